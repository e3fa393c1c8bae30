/**
 * Parameters of requests to the API, checked and bounded.
 *
 * @module
 */
import { invalidParams } from '../../core/errors.js'
import type { JsonObject } from '../../core/json-types.js'
import type { Part } from '../../core/task.js'
import type { ListQuery } from '../source/listing.js'

export const MAX_GENERATION = Number.MAX_SAFE_INTEGER
const MAX_TEXT = 1_024
const MAX_ANSWERS = 100
const MAX_PAGE = 200
const PAGE_SIZE = 100
const MAX_MESSAGE = 32_768
export const MAX_FILES = 20
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

/** @throws {A2AError} `INVALID_PARAMS`. */
export function readListQuery(query: URLSearchParams): ListQuery {
  const since = readTime(query, 'since')
  const before = readTime(query, 'before')
  return {
    state: readText(query, 'state'),
    skill: readText(query, 'skill'),
    contextId: readText(query, 'context'),
    owner: readText(query, 'owner'),
    text: readText(query, 'text'),
    updatedSince: since,
    updatedBefore: before,
    pageSize: readInteger(query, 'size', 1, MAX_PAGE) ?? PAGE_SIZE,
    cursor: readText(query, 'cursor'),
  }
}

export function readInteger(
  query: URLSearchParams,
  name: string,
  min: number,
  max: number,
): number | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN
  if (value >= min && value <= max) return value
  throw invalidParams(name, `must be an integer from ${min} to ${max}`)
}

function readTime(query: URLSearchParams, name: string): string | undefined {
  const text = readText(query, name)
  if (text === undefined) return undefined
  const ms = Date.parse(text)
  if (Number.isNaN(ms)) throw invalidParams(name, 'must be a time of ISO 8601')
  return new Date(ms).toISOString()
}

function readText(query: URLSearchParams, name: string): string | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  if (text.length > MAX_TEXT) throw invalidParams(name, `must have at most ${MAX_TEXT} characters`)
  return text
}

type Body = Readonly<Record<string, unknown>>

/** @throws {A2AError} `INVALID_PARAMS`. */
export function requiredText(body: Body, name: string): string {
  const text = body[name]
  if (typeof text !== 'string' || text === '') throw invalidParams(name, 'must be a text')
  if (text.length > MAX_MESSAGE) throw invalidParams(name, `must have at most ${MAX_MESSAGE} characters`)
  return text
}

/** @throws {A2AError} `INVALID_PARAMS`. */
export function optionalText(body: Body, name: string): string | undefined {
  return body[name] === undefined ? undefined : requiredText(body, name)
}

/** The parts of a message: its `text`, its `data` and its `files`, at least one. @throws {A2AError} `INVALID_PARAMS`. */
export function readParts(body: Body): Part[] {
  const { data } = body
  const files = readFiles(body)
  const isText = data === undefined && files.length === 0
  const text = isText ? requiredText(body, 'text') : optionalText(body, 'text')
  if (data !== undefined && (typeof data !== 'object' || data === null || Array.isArray(data))) {
    throw invalidParams('data', 'must be an object')
  }
  // It comes from JSON.
  const json = data as JsonObject | undefined
  return [
    ...(text === undefined ? [] : [{ text }]),
    ...(json === undefined ? [] : [{ data: json }]),
    ...files,
  ]
}

function readFiles({ files = [] }: Body): Part[] {
  if (!Array.isArray(files)) throw invalidParams('files', 'must be an array')
  if (files.length > MAX_FILES) throw invalidParams('files', `must have at most ${MAX_FILES}`)
  return files.map((file: unknown, index) => {
    const path = `files[${index}]`
    if (typeof file !== 'object' || file === null) throw invalidParams(path, 'must be an object')
    // Objects of JSON have only names that are texts.
    const { filename, mediaType, raw } = file as Body
    if (!isShort(filename) || !isShort(mediaType)) {
      throw invalidParams(path, `must have a filename and a mediaType of at most ${MAX_TEXT} characters`)
    }
    if (typeof raw !== 'string' || !BASE64.test(raw)) throw invalidParams(`${path}.raw`, 'must be base64')
    return { filename, mediaType, raw }
  })
}

function isShort(text: unknown): text is string {
  return typeof text === 'string' && text !== '' && text.length <= MAX_TEXT
}

/** The generation of a body; `undefined` where it has none. @throws {A2AError} `INVALID_PARAMS`. */
export function readGeneration({ generation }: Body): number | undefined {
  if (generation === undefined) return undefined
  if (typeof generation === 'number' && Number.isSafeInteger(generation) && generation >= 1) return generation
  throw invalidParams('generation', 'must be an integer from 1')
}

/** Texts by the names of questions. @throws {A2AError} `INVALID_PARAMS`. */
export function readAnswers({ answers = {} }: Body): Readonly<Record<string, string>> {
  if (typeof answers !== 'object' || answers === null || Array.isArray(answers))
    throw invalidParams('answers', 'must be an object')
  const names = Object.keys(answers)
  if (names.length > MAX_ANSWERS) throw invalidParams('answers', `must have at most ${MAX_ANSWERS}`)
  // Objects of JSON have only names that are texts.
  const given = answers as Body
  return Object.fromEntries(names.map((name) => [name, requiredText(given, name)]))
}
