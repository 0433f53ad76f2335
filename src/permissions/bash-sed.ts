/** Whether a sed script only prints, deletes and replaces: no command of it writes a file, reads one or runs a program. */
export function sedScriptIsPlain(script: string): boolean {
  return script.split(/[;\n]/).every((part) => part.trim() === '' || isPlainCommand(part.trim()));
}

const address = String.raw`(?:\d+|\$|/(?:[^/\\]|\\[^\n])*/I?)`;
const printing = new RegExp(`^(?:${address}(?:,(?:${address}|[+~]\\d+))?)?\\s*!?\\s*[pdqDPhHgGxnN=l]\\s*(?:\\d+)?$`);
const replacing = new RegExp(`^(?:${address}(?:,(?:${address}|[+~]\\d+))?)?\\s*!?\\s*s(.)`);

function isPlainCommand(text: string): boolean {
  if (printing.test(text)) return true;
  const start = replacing.exec(text);
  if (!start || /[\w\\\s;]/.test(start[1]!)) return false;
  const parts = splitBy(text.slice(start[0].length), start[1]!);
  return parts.length === 3 && /^[gIiMmp0-9]*$/.test(parts[2]!);
}

/** Splits at a delimiter that no backslash stands in front of. */
function splitBy(text: string, delimiter: string): string[] {
  const parts = [''];
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '\\') parts[parts.length - 1] += text[i]! + (text[++i] ?? '');
    else if (text[i] === delimiter) parts.push('');
    else parts[parts.length - 1] += text[i]!;
  }
  return parts;
}
