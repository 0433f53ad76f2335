import type { Tool } from '../core/tool.ts';
import { askUserQuestion } from './ask-user-question.ts';
import { bash } from './bash.ts';
import { edit } from './edit.ts';
import { exitPlanMode } from './exit-plan-mode.ts';
import { glob } from './glob.ts';
import { grep } from './grep.ts';
import { read } from './read.ts';
import { sleep } from './sleep.ts';
import { taskOutput } from './task-output.ts';
import { taskStop } from './task-stop.ts';
import { write } from './write.ts';

/** The tools that every job has, in the order in which the model gets them; a stable order keeps its prompt cache. */
export const builtinTools: readonly Tool[] = [
  bash,
  read,
  edit,
  write,
  glob,
  grep,
  taskOutput,
  taskStop,
  sleep,
  askUserQuestion,
  exitPlanMode,
];
