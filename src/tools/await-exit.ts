import type { ShellExit, ShellRun } from '../core/ports.ts';
import type { ToolIo } from '../core/tool.ts';

/** Waits for a command's end, and says so meanwhile: a death that comes now is none of the call's. Rejects with the signal's reason. */
export async function awaitExit(run: ShellRun, signal: AbortSignal, io: ToolIo): Promise<ShellExit> {
  const act = io.waits();
  try {
    return await run.exit(signal, (tail, bytes) => io.progress(tail, bytes));
  } finally {
    await act();
  }
}
