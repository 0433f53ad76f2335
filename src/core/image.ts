import type { ImageBlock } from '../shapes/message.ts';

/** Characters of base64 of one image, and pixels of one side, that the API takes at most. */
const MAX_BASE64 = 5 * 1024 * 1024;
const MAX_SIDE = 8_000;
/** Base64 that is looked at to find the size: room for the EXIF data and thumbnail ahead of a JPEG's frame. */
const HEAD_BASE64 = 400_000;

type Kind = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';
type Header = { kind: Kind; width?: number; height?: number };

/** An image that the API takes (with the media type that its bytes have), or the reason why it would not, in a sentence. */
export function checkImage(block: ImageBlock): { ok: ImageBlock } | { refused: string } {
  const { data, media_type } = block.source;
  if (data.length > MAX_BASE64) {
    return { refused: `it is ${(data.length / 1024 / 1024).toFixed(1)} MB in base64, the limit is 5 MB` };
  }
  if (data === '' || data.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(data)) {
    return { refused: 'its data is not base64' };
  }
  const header = headerOf(decode(data.slice(0, HEAD_BASE64)));
  if (header === undefined) return { refused: `${media_type} is not a PNG, JPEG, GIF or WebP image` };
  const { kind, width = 1, height = 1 } = header;
  if (width > MAX_SIDE || height > MAX_SIDE) {
    return { refused: `it has ${width} x ${height} pixels, the limit is ${MAX_SIDE} a side` };
  }
  return { ok: kind === media_type ? block : { ...block, source: { ...block.source, media_type: kind } } };
}

function decode(data: string): DataView {
  const text = atob(data);
  return new DataView(Uint8Array.from(text, (character) => character.charCodeAt(0)).buffer);
}

/** Kind and size from the first bytes of a file; the size is left out when it stands in none of the usual places. */
function headerOf(bytes: DataView): Header | undefined {
  if (startsWith(bytes, '\x89PNG\r\n\x1a\n'))
    return sized('image/png', bytes, 24, () => [u32(bytes, 16), u32(bytes, 20)]);
  if (startsWith(bytes, 'GIF87a') || startsWith(bytes, 'GIF89a')) {
    return sized('image/gif', bytes, 10, () => [bytes.getUint16(6, true), bytes.getUint16(8, true)]);
  }
  if (startsWith(bytes, 'RIFF') && startsWith(bytes, 'WEBP', 8))
    return sized('image/webp', bytes, 30, () => webpSize(bytes));
  if (startsWith(bytes, '\xff\xd8\xff')) return { kind: 'image/jpeg', ...jpegSize(bytes) };
  return undefined;
}

function sized(kind: Kind, bytes: DataView, needs: number, size: () => [number, number]): Header {
  if (bytes.byteLength < needs) return { kind };
  const [width, height] = size();
  return { kind, width, height };
}

function webpSize(bytes: DataView): [number, number] {
  if (startsWith(bytes, 'VP8X', 12)) return [(u32(bytes, 24, true) & 0xffffff) + 1, (u32(bytes, 26, true) >>> 8) + 1];
  if (startsWith(bytes, 'VP8L', 12)) {
    const bits = u32(bytes, 21, true);
    return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1];
  }
  return [bytes.getUint16(26, true) & 0x3fff, bytes.getUint16(28, true) & 0x3fff];
}

/** Walks the segments up to the first frame header. */
function jpegSize(bytes: DataView): { width?: number; height?: number } {
  for (let at = 2; at + 9 <= bytes.byteLength && bytes.getUint8(at) === 0xff;) {
    const marker = bytes.getUint8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { height: bytes.getUint16(at + 5), width: bytes.getUint16(at + 7) };
    at += 2 + bytes.getUint16(at + 2);
  }
  return {};
}

function startsWith(bytes: DataView, magic: string, at = 0): boolean {
  if (bytes.byteLength < at + magic.length) return false;
  return Array.from(magic).every((character, n) => bytes.getUint8(at + n) === character.charCodeAt(0));
}

const u32 = (bytes: DataView, at: number, littleEndian = false): number => bytes.getUint32(at, littleEndian);
