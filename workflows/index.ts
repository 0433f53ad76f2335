export { job } from './job.ts';
export { turn } from './turn.ts';
