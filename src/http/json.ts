/**
 * Bounded parsing of JSON from other agents.
 *
 * @module
 */
import type { Unread } from '../runtime/unread.js'
import { A2AError, invalidAnswer } from '../core/errors.js'

/** JSON of this depth parses in milliseconds. Deeper JSON costs memory and time before its depth can be checked. */
const CHEAP_LEVELS = 100_000
const QUOTE = 0x22
const OPENING = [0x5b, 0x7b]
const CLOSING = [0x5d, 0x7d]

/**
 * Parses `text`. Removes properties called `__proto__`, which would replace the prototype of a careless copy.
 *
 * @param what The text, for errors: its URL.
 * @throws {A2AError} `INVALID_AGENT_RESPONSE`; `LIMIT_EXCEEDED` for `maxDepth`.
 */
export function parseJson(text: string, maxDepth: number, what = 'it'): unknown {
  const isLong = text.length > CHEAP_LEVELS
  if (isLong && hasManyBrackets(text) && isDeeper(text, maxDepth))
    throw tooLarge('maxDepth', maxDepth, maxDepth + 1)
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (cause) {
    throw invalidAnswer(`${what} is not JSON but ${JSON.stringify(text.slice(0, 60))}`, cause)
  }
  removePrototypeKeys(json, maxDepth, maxDepth)
  return json
}

/** Whether the text may be too deep to parse. `indexOf` costs far less than reading each character. */
function hasManyBrackets(text: string): boolean {
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

/** Index of the quote that ends the string starting at `start`: the next with an even number of backslashes before it. */
function endOfText(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end
    while (text[before - 1] === '\\') before -= 1
    if ((end - before) % 2 === 0) return end
  }
  return text.length
}

function removePrototypeKeys(value: unknown, depth: number, maxDepth: number): void {
  if (typeof value !== 'object' || value === null) return
  if (depth === 0) throw tooLarge('maxDepth', maxDepth, maxDepth + 1)
  if (Object.hasOwn(value, '__proto__')) Reflect.deleteProperty(value, '__proto__')
  for (const child of Object.values(value)) removePrototypeKeys(child, depth - 1, maxDepth)
}

/** The properties of `value`; none if it is not an object. */
export function fieldsOf(value: unknown): Unread {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

/** `value` if it is a string, else an empty one. Does not convert: `String()` throws for some values. */
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
