/**
 * Results of tools: for the client of an agent as parts, and for a model as texts and files.
 *
 * @module
 */
import type { JsonValue } from '../../core/json-types.js'
import type { Part } from '../../core/task.js'
import { hasBase64Digits } from '../../runtime/base64.js'
import { firstChars } from '../../runtime/cut.js'
import type { ModelFile } from '../../runtime/framework-tools.js'
import { isRecord, recordOf, type Unread } from '../../runtime/unread.js'
import { violationOf } from '../../wire/question/violation.js'
import type { ListedTool } from './listing.js'

/** What a tool has returned. */
export interface McpResult {
  /** The texts, joined by line breaks. */
  readonly text: string
  /** The structured content, where the tool has returned any. */
  readonly data?: JsonValue
  /** All of it: texts, files and links. */
  readonly parts: readonly Part[]
}

/** The most blocks of a result. */
export const MAX_BLOCKS = 1_000
const MAX_PROBLEM = 2_000
/** The most characters of the name of a file, and of its media type. Longer ones are left out. */
const MAX_FILENAME = 1_024

/**
 * Why a tool has not done its work, in words for the user or the model: the text of a result with `isError`, an error of the server,
 * a result that does not fit the tool's schema, a timeout, or a question that the user has declined.
 */
export class McpToolError extends Error {
  override readonly name = 'McpToolError'
}

/**
 * Reads the result of a tool.
 *
 * @throws {McpToolError} for the result of a tool that has failed, and for one that does not fit the tool's own schema.
 */
export function readResult(result: Unread, { name, outputSchema }: ListedTool): McpResult {
  const { content, structuredContent: data, isError } = result
  const blocks = Array.isArray(content) ? content.slice(0, MAX_BLOCKS) : []
  const made = blocks.filter(isRecord).flatMap(partsOf)
  const text = made.flatMap((part) => part.text ?? []).join('\n')
  if (isError === true)
    throw new McpToolError(firstChars(text, MAX_PROBLEM) || `The tool "${name}" has failed`)
  const found = outputSchema === undefined || data === undefined ? undefined : violationOf(outputSchema, data)
  if (found !== undefined)
    throw new McpToolError(
      `The result of the tool "${name}" does not fit its schema: ${found.path.replace(/^\./, '')} ${found.reason}`,
    )
  if (data === undefined) return { text, parts: made }
  // A result of JSON.
  const json = data as JsonValue
  const written = JSON.stringify(data)
  return { text, data: json, parts: [...made.filter((part) => !isSame(part, written)), { data: json }] }
}

/** Tools repeat their data as a text, for clients that know only texts. */
function isSame({ text }: Part, data: string): boolean {
  if (text === undefined) return false
  try {
    return JSON.stringify(JSON.parse(text)) === data
  } catch {
    return false
  }
}

/** A block of content as parts. A block of an unknown type is left out. */
export function partsOf(block: Unread): Part[] {
  const { type, text, data, mimeType, uri, name } = block
  switch (type) {
    case 'text':
      return typeof text === 'string' ? [{ text }] : []
    case 'image':
    case 'audio':
      return rawPart(data, mimeType, undefined)
    case 'resource_link':
      return typeof uri === 'string' ? [{ url: uri, ...named(name), ...typed(mimeType) }] : []
    case 'resource':
      return partsOfResource(recordOf(block['resource']) ?? {})
    default:
      return []
  }
}

/** The contents of a resource. */
export function partsOfResource({ uri, text, blob, mimeType }: Unread): Part[] {
  const filename = typeof uri === 'string' ? uri.split('/').at(-1) : undefined
  if (typeof text === 'string') return [{ text, ...named(filename), ...typed(mimeType) }]
  return rawPart(blob, mimeType, filename)
}

function rawPart(data: unknown, mimeType: unknown, filename: unknown): Part[] {
  if (typeof data !== 'string') return []
  // Lines, as MIME has them.
  const raw = hasBase64Digits(data) ? data : data.replace(/\s+/g, '')
  return hasBase64Digits(raw) ? [{ raw, ...named(filename), ...typed(mimeType) }] : []
}

function typed(mimeType: unknown): { readonly mediaType?: string } {
  return isName(mimeType) ? { mediaType: mimeType } : {}
}

function named(name: unknown): { readonly filename?: string } {
  return isName(name) ? { filename: name } : {}
}

/** Parts have no longer ones. */
function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_FILENAME
}

/** What a model reads: the texts, data as JSON, and the addresses of links. */
export function textForModel({ parts }: McpResult): string {
  return parts
    .flatMap(({ text, data, url }) => text ?? url ?? (data === undefined ? [] : JSON.stringify(data)))
    .join('\n')
}

export function filesForModel({ parts }: McpResult): ModelFile[] {
  return parts.flatMap(({ raw, mediaType = 'application/octet-stream', filename }) =>
    raw === undefined ? [] : [{ data: raw, mediaType, ...(filename !== undefined && { filename }) }],
  )
}
