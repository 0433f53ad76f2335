import { Exit } from '../cli-error.ts';
import { type Io, print, printJson } from '../io.ts';
import { paintFor } from '../paint.ts';
import { doctorChecks } from '../service/doctor-checks.ts';

export type DoctorOptions = { json?: boolean };

/** `doctor`: what was found, what is missing, and the command that mends it; exits with 1 when something is missing. */
export async function doctor(options: DoctorOptions, io: Io): Promise<number> {
  const checks = await doctorChecks(io.env);
  if (options.json === true) printJson(io, { checks });
  else {
    const { green, red } = paintFor(io.isTTY, io.env);
    for (const { name, ok, found, fix } of checks) {
      const [first = '', ...rest] = found.split('\n');
      print(io, `${ok ? green('ok     ') : red('missing')} ${name.padEnd(12)} ${first}`);
      for (const line of rest) print(io, `${' '.repeat(20)} ${line}`);
      for (const line of fix?.split('\n') ?? []) print(io, `${' '.repeat(20)} → ${line}`);
    }
  }
  return checks.every(({ ok }) => ok) ? Exit.ok : Exit.failed;
}
