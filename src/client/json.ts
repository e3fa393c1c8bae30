/**
 * JSON from another agent.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import { invalidAnswer } from '../wire/index.js'

/**
 * The JSON in `text`, without properties called `__proto__`, which change what an object is when it is copied carelessly.
 *
 * @throws {A2AError} `INVALID_AGENT_RESPONSE`; `LIMIT_EXCEEDED` for `maxDepth`.
 */
export function parseJson(text: string, maxDepth: number): unknown {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (cause) {
    throw invalidAnswer(`it is not JSON but ${JSON.stringify(text.slice(0, 60))}`, cause)
  }
  disarm(json, maxDepth, maxDepth)
  return json
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
