export { job } from './job.ts';
export { task } from './task.ts';
export { turn } from './turn.ts';
