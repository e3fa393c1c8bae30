/**
 * Inputs of the user: JSON, files and standard input, up to a bound.
 *
 * @module
 */
import { readFile, stat } from 'node:fs/promises'
import { basename, extname, resolve } from 'node:path'
import { usageFailure } from './failure.js'

const MAX_INPUT_BYTES = 16_777_216

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  gif: 'image/gif',
  htm: 'text/html',
  html: 'text/html',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  json: 'application/json',
  md: 'text/markdown',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  pdf: 'application/pdf',
  png: 'image/png',
  svg: 'image/svg+xml',
  txt: 'text/plain',
  wav: 'audio/wav',
  webp: 'image/webp',
  xml: 'application/xml',
  yaml: 'application/yaml',
  yml: 'application/yaml',
  zip: 'application/zip',
}

export interface FilePart {
  readonly raw: string
  readonly filename: string
  readonly mediaType: string
}

/** The part for a file: its bytes, its name without its folder, and the media type for its ending. */
export async function readFilePart(path: string, cwd: string): Promise<FilePart> {
  const bytes = await readInput(path, cwd)
  const extension = extname(path).slice(1).toLowerCase()
  const mediaType = MEDIA_TYPES[extension] ?? 'application/octet-stream'
  return { raw: bytes.toString('base64'), filename: basename(path), mediaType }
}

/** A file's bytes. */
export async function readInput(path: string, cwd: string): Promise<Buffer> {
  const file = resolve(cwd, path)
  try {
    const found = await stat(file)
    if (found.isDirectory()) throw usageFailure(`"${path}" is a folder, and not a file`)
    if (found.size > MAX_INPUT_BYTES) throw usageFailure(`"${path}" is larger than ${MAX_INPUT_BYTES} bytes`)
    return await readFile(file)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    const reason = error.code === 'ENOENT' ? 'there is no such file' : String(error.code)
    throw usageFailure(`Cannot read "${path}": ${reason}`)
  }
}

/** JSON as it is written, or of a file: `@data.json`. */
export async function readJson(text: string, name: string, cwd: string): Promise<unknown> {
  const json = text.startsWith('@') ? (await readInput(text.slice(1), cwd)).toString() : text
  try {
    return JSON.parse(json)
  } catch (error) {
    const reason = error instanceof Error ? error.message : ''
    throw usageFailure(`${name} is not JSON: ${reason}`, `Quote it for the shell: ${name} '{"city":"Paris"}'`)
  }
}

/** All of standard input. */
export async function readStandardInput(): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of process.stdin) {
    // Without an encoding, the stream has buffers.
    const bytes = chunk as Buffer
    size += bytes.length
    if (size > MAX_INPUT_BYTES) throw usageFailure(`The input is larger than ${MAX_INPUT_BYTES} bytes`)
    chunks.push(bytes)
  }
  return Buffer.concat(chunks).toString()
}
