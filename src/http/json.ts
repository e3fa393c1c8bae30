/**
 * Bounded parsing of JSON from other agents.
 *
 * @module
 */
import { A2AError, invalidAnswer } from '../core/errors.js'

/** As many levels are read in milliseconds. Of more, each costs memory and time before anybody can count them. */
const CHEAP_LEVELS = 100_000
const QUOTE = 0x22
const OPENING = [0x5b, 0x7b]
const CLOSING = [0x5d, 0x7d]

/**
 * The JSON in `text`, without properties called `__proto__`, which change what an object is when it is copied carelessly.
 *
 * @throws {A2AError} `INVALID_AGENT_RESPONSE`; `LIMIT_EXCEEDED` for `maxDepth`.
 */
export function parseJson(text: string, maxDepth: number): unknown {
  const isLong = text.length > CHEAP_LEVELS
  if (isLong && opensMany(text) && isDeeper(text, maxDepth))
    throw tooLarge('maxDepth', maxDepth, maxDepth + 1)
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (cause) {
    throw invalidAnswer(`it is not JSON but ${JSON.stringify(text.slice(0, 60))}`, cause)
  }
  disarm(json, maxDepth, maxDepth)
  return json
}

/** Whether it may be too deep to be read at all: a search that costs next to nothing, where a look at each character would. */
function opensMany(text: string): boolean {
  let count = 0
  for (const bracket of ['[', '{']) {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      count += 1
      if (count > CHEAP_LEVELS) return true
    }
  }
  return false
}

function isDeeper(text: string, maxDepth: number): boolean {
  let depth = 0
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charCodeAt(at)
    if (character === QUOTE) at = endOfText(text, at)
    else if (OPENING.includes(character)) {
      depth += 1
      if (depth > maxDepth) return true
    } else if (CLOSING.includes(character)) depth -= 1
  }
  return false
}

/** Where the text that begins at `start` ends: at a quote with no odd number of backslashes before it. */
function endOfText(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end
    while (text[before - 1] === '\\') before -= 1
    if ((end - before) % 2 === 0) return end
  }
  return text.length
}

function disarm(value: unknown, depth: number, maxDepth: number): void {
  if (typeof value !== 'object' || value === null) return
  if (depth === 0) throw tooLarge('maxDepth', maxDepth, maxDepth + 1)
  if (Object.hasOwn(value, '__proto__')) Reflect.deleteProperty(value, '__proto__')
  for (const child of Object.values(value)) disarm(child, depth - 1, maxDepth)
}

/** A JSON object of which nothing is known yet. */
export type Unread = Readonly<Record<string, unknown>>

/** Empty where it is no object. */
export function fieldsOf(value: unknown): Unread {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

/** Empty where it is no text. What is none may not even let itself be made one. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function tooLarge(limit: string, max: number, actual: number): A2AError<'LIMIT_EXCEEDED'> {
  return new A2AError('LIMIT_EXCEEDED', `The agent's answer exceeds ${limit} (${max})`, {
    limit,
    max,
    actual,
  })
}
