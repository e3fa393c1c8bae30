/**
 * The frames of `application/vnd.amazon.eventstream`, by hand: lengths, headers and two checksums (CRC-32), big endian.
 *
 * @module
 */
import { crc32 } from 'node:zlib'

/** What a header value of type string is marked with, the only type that a service answers with here. */
const STRING = 7

/** One frame. */
export function encodeFrame(headers: Readonly<Record<string, string>>, payload: unknown): Buffer {
  const head = Buffer.concat(Object.entries(headers).flatMap(([name, value]) => encodeHeader(name, value)))
  const body = Buffer.from(payload === undefined ? '' : JSON.stringify(payload))
  const prelude = Buffer.alloc(8)
  prelude.writeUInt32BE(head.length + body.length + 16, 0)
  prelude.writeUInt32BE(head.length, 4)
  const message = Buffer.concat([prelude, checksum(prelude), head, body])
  return Buffer.concat([message, checksum(message)])
}

function encodeHeader(name: string, value: string): Buffer[] {
  const text = Buffer.from(value)
  const length = Buffer.alloc(2)
  length.writeUInt16BE(text.length)
  return [Buffer.from([name.length]), Buffer.from(name), Buffer.from([STRING]), length, text]
}

function checksum(bytes: Buffer): Buffer {
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(bytes))
  return sum
}
