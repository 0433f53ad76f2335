import type { Block, CountRequest, Message } from './request.ts';

const IMAGE_LIMIT = 5 * 1024 * 1024;

type Inner = { type: string; text?: unknown };

/** Empty, blank or broken text anywhere in system and messages. */
export function checkText(request: CountRequest): string | undefined {
  for (const [i, block] of (request.system ?? []).entries()) {
    const fault = faultOfText(block, `system.${i}`, 'system');
    if (fault) return fault;
  }
  for (const [i, message] of request.messages.entries()) {
    for (const [k, block] of message.content.entries()) {
      const path = `messages.${i}.content.${k}`;
      const fault =
        faultOfText(block, path, 'messages') ?? faultOfPlace(block, message, path) ?? faultOfResult(block, path);
      if (fault) return fault;
    }
  }
  return undefined;
}

function faultOfText(block: Inner, path: string, where: string): string | undefined {
  if (block.type !== 'text' || typeof block.text !== 'string') return undefined;
  if (block.text === '') return `${where}: text content blocks must be non-empty`;
  if (block.text.trim() === '') return `${where}: text content blocks must contain non-whitespace text`;
  return block.text.includes('\0') ? `${path}.text: text must not contain null characters` : undefined;
}

function faultOfPlace(block: Block, message: Message, path: string): string | undefined {
  const { role } = message;
  if (role === 'system' && block.type !== 'text') return `${path}: \`system\` messages may hold \`text\` blocks only`;
  if (role === 'assistant') {
    if (block.type === 'tool_result') return `${path}: \`tool_result\` blocks can only be in \`user\` messages`;
    if (block.type === 'image' || block.type === 'document') {
      return `${path}: \`${block.type}\` blocks are not permitted in \`assistant\` messages`;
    }
    return undefined;
  }
  if (block.type === 'tool_use') return `${path}: \`tool_use\` blocks can only be in \`assistant\` messages`;
  if (block.type === 'thinking' || block.type === 'redacted_thinking') {
    return `${path}: \`${block.type}\` blocks can only be in \`assistant\` messages`;
  }
  if (block.type === 'text' && block.citations) return `${path}.text.citations: Extra inputs are not permitted`;
  return undefined;
}

function faultOfResult(block: Block, path: string): string | undefined {
  if (block.type !== 'tool_result') return undefined;
  const inner = block.content ?? [];
  if (block.is_error && inner.length === 0) {
    return `${path}.tool_result: content cannot be empty if \`is_error\` is true`;
  }
  if (block.is_error && inner.some((entry) => entry.type !== 'text')) {
    return `${path}.tool_result: all content must be type "text" if \`is_error\` is true`;
  }
  for (const [i, entry] of inner.entries()) {
    const fault = faultOfText(entry, `${path}.tool_result.content.${i}`, 'messages');
    if (fault) return fault;
  }
  return undefined;
}

/** Images with broken base64 or over the size limit. */
export function checkImage(messages: readonly Message[]): string | undefined {
  for (const [i, message] of messages.entries()) {
    for (const [k, block] of message.content.entries()) {
      const path = `messages.${i}.content.${k}`;
      const found = block.type === 'tool_result' ? (block.content ?? []) : [block];
      for (const [m, image] of found.entries()) {
        if (image.type !== 'image' || image.source.type !== 'base64') continue;
        const at = `${path}${block.type === 'tool_result' ? `.tool_result.content.${m}` : ''}.image.source.base64`;
        const fault = faultOfImage(image.source.data, image.source.media_type);
        if (fault) return `${at}: ${fault}`;
      }
    }
  }
  return undefined;
}

const MAGIC: Record<string, (bytes: Buffer) => boolean> = {
  'image/png': (bytes) => bytes.subarray(0, 8).equals(Buffer.from('89504e470d0a1a0a', 'hex')),
  'image/jpeg': (bytes) => bytes.subarray(0, 3).equals(Buffer.from('ffd8ff', 'hex')),
  'image/gif': (bytes) => bytes.subarray(0, 4).toString('latin1') === 'GIF8',
  'image/webp': (bytes) => bytes.subarray(8, 12).toString('latin1') === 'WEBP',
};

function faultOfImage(data: string, mediaType: string): string | undefined {
  if (data.length === 0 || data.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(data)) return 'invalid base64 data';
  // The API's limit is on the encoded text, as the refusal itself says.
  if (data.length > IMAGE_LIMIT) return `image exceeds 5 MB maximum: ${data.length} bytes > ${IMAGE_LIMIT} bytes`;
  const actual = Object.entries(MAGIC).find(([, fits]) => fits(Buffer.from(data.slice(0, 24), 'base64')))?.[0];
  if (!actual) return 'Could not process image';
  if (actual === mediaType) return undefined;
  return `The image was specified using the ${mediaType} media type, but the image appears to be a ${actual} image`;
}
