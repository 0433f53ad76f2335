import { writeFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { rolldown } from 'rolldown';

/** What a person or another program of ours starts, from `dist/`. */
const PROGRAMS = [
  'src/app/cli.js',
  'src/app/worker-main.js',
  'src/app/replay-main.js',
  'src/app/demo/demo-main.js',
  'src/app/service/keeper-main.js',
];

/** These stay outside, as they find files beside them or hold native code; one protobufjs has to do for the SDK and for us. */
const COMMON_JS = [/^@temporalio\//, /^protobufjs/];
const MODULES = [/^@vscode\/ripgrep/, /\.node$/];

/**
 * Puts each program and what it imports into a few files below `programs/`: to find and read more than a thousand
 * modules one by one takes a worker longer than all else that it does at its start. The path of a program leads there.
 */
export async function bundlePrograms(dist) {
  const bundle = await rolldown({
    input: Object.fromEntries(PROGRAMS.map((path) => [nameOf(path), join(dist, path)])),
    platform: 'node',
    external: (id, importer) => isAny(MODULES, id) || (isAny(COMMON_JS, id) && isRequired(importer)),
    plugins: [keepsItsPlace(dist), required()],
    // Some packages have code for Node that only Node's own loader can follow.
    resolve: { mainFields: ['module', 'main'], conditionNames: ['node', 'import', 'default'] },
    onLog: (level, log, handle) => log.code !== 'INEFFECTIVE_DYNAMIC_IMPORT' && handle(level, log),
  });
  const dir = join(dist, 'programs');
  await bundle.write({ dir, format: 'esm', entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' });
  await bundle.close();
  for (const path of PROGRAMS) {
    const shebang = path === 'src/app/cli.js' ? '#!/usr/bin/env node\n' : '';
    const up = '../'.repeat(path.split('/').length - 1);
    writeFileSync(join(dist, path), `${shebang}import '${up}programs/${nameOf(path)}.js';\n`);
  }
}

const REQUIRED = '\0required:';
const isAny = (patterns, id) => patterns.some((pattern) => pattern.test(id));
const isRequired = (id) => id?.startsWith(REQUIRED) ?? false;

/** To `import` CommonJS, Node reads all of it twice, first for the names in it; to `require` it, once. */
const required = () => ({
  name: 'required',
  resolveId: (id, importer) => (isAny(COMMON_JS, id) && !isRequired(importer) ? `${REQUIRED}${id}` : undefined),
  load: (id) =>
    isRequired(id)
      ? { code: `module.exports = require(${JSON.stringify(id.slice(REQUIRED.length))});`, moduleType: 'js' }
      : undefined,
});

const nameOf = (path) => path.split('/').at(-1).replace(/\.js$/, '');

/** A module goes on to find the files that lie beside it in `dist/`. */
const keepsItsPlace = (dist) => ({
  name: 'keeps-its-place',
  transform: {
    filter: { code: 'import.meta.url' },
    handler(code, id) {
      const path = relative(dist, id);
      if (path.startsWith('..')) return undefined;
      const place = JSON.stringify(`../${path.split(sep).join('/')}`);
      return code.replaceAll('import.meta.url', `new URL(${place}, import.meta.url).href`);
    },
  },
});
