/** HTTP/1.1 over a plain socket, for requests that `fetch` cannot send: bodies in pieces, headers as they stand. */

import { connect as connectPlain, type Socket } from 'node:net'
import { connect as connectSecure } from 'node:tls'
import { parse, shownValue, type Answer } from './http.js'
import { Mismatch } from './mismatch.js'

const TIMEOUT_MS = 10_000

type Piece = string | Uint8Array

interface SocketRequest {
  readonly method?: string
  readonly head: readonly string[]
  readonly pieces: readonly Piece[]
}

/**
 * Sends a request in pieces, each of which is flushed before the next, and reads the answer to its end.
 *
 * @param head lines of the request after the request line and `Host`.
 * @param pieces bytes or texts of the body, with the framing that `head` names.
 */
export async function askOverSocket(
  url: string,
  { method = 'POST', head, pieces }: SocketRequest,
): Promise<Answer> {
  const { pathname, search, hostname, host, port, protocol } = new URL(url)
  const secure = protocol === 'https:'
  const options = { host: hostname, port: Number(port) || (secure ? 443 : 80), servername: hostname }
  const socket = secure ? connectSecure(options) : connectPlain(options)
  socket.setNoDelay(true)
  const lines = [`${method} ${pathname}${search} HTTP/1.1`, `Host: ${host}`, 'Connection: close', ...head]
  const shownLines = lines.map((line) =>
    line.replace(
      /^([\w-]+): (.*)$/,
      (_, name: string, value: string) => `${name}: ${shownValue(name, value)}`,
    ),
  )
  const sent = `${shownLines.join(' | ')} | ${pieces.map((piece) => toBytes(piece).toString('latin1')).join('⏎')}`
  try {
    const answer = readAll(socket, sent)
    // The answer may come, or fail, before all pieces are sent.
    answer.catch(() => undefined)
    await write(socket, `${lines.join('\r\n')}\r\n\r\n`)
    for (const piece of pieces) await write(socket, piece)
    return toAnswer(sent, await answer)
  } finally {
    socket.destroy()
  }
}

/** One piece of a body of `Transfer-Encoding: chunked`. */
export function chunk(piece: Piece): Buffer {
  const bytes = toBytes(piece)
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
}

function toBytes(piece: Piece): Buffer {
  return typeof piece === 'string' ? Buffer.from(piece) : Buffer.from(piece)
}

export const LAST_CHUNK = '0\r\n\r\n'

function write(socket: Socket, piece: Piece): Promise<void> {
  return new Promise((resolve) => {
    // A turn of the event loop between two pieces keeps them apart.
    socket.write(piece, () => setImmediate(resolve))
  })
}

function readAll(socket: Socket, sent: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const fail = (got: string) =>
      reject(new Mismatch({ sent }, `an answer within ${TIMEOUT_MS / 1_000} s`, got))
    socket.setTimeout(TIMEOUT_MS, () => fail('none'))
    socket.on('data', (data: Buffer) => chunks.push(data))
    socket.on('error', (error) => fail(`a connection error: ${error.message}`))
    socket.on('close', () =>
      chunks.length > 0 ? resolve(Buffer.concat(chunks)) : fail('a closed connection'),
    )
  })
}

function toAnswer(sent: string, bytes: Buffer): Answer {
  const end = bytes.indexOf('\r\n\r\n')
  const [statusLine = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n')
  const headers = new Headers(
    lines.map((line): [string, string] => [
      line.slice(0, line.indexOf(':')),
      line.slice(line.indexOf(':') + 1).trim(),
    ]),
  )
  const body = bytes.subarray(end + 4)
  const isChunked = headers.get('transfer-encoding')?.toLowerCase() === 'chunked'
  const text = (isChunked ? unchunk(body) : body).toString('utf8')
  return { sent, status: Number(statusLine.split(' ')[1]), headers, text, json: parse(text) ?? undefined }
}

function unchunk(body: Buffer): Buffer {
  const pieces: Buffer[] = []
  for (let at = 0; at < body.length;) {
    const end = body.indexOf('\r\n', at)
    const length = Number.parseInt(body.subarray(at, end).toString('latin1'), 16)
    if (!(length > 0)) break
    pieces.push(body.subarray(end + 2, end + 2 + length))
    at = end + 2 + length + 2
  }
  return Buffer.concat(pieces)
}
