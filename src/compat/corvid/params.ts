/**
 * Checks of the parameters of inbound tasks.
 *
 * @module
 */
import { invalidParams } from '../../core/errors.js'
import { readName } from '../../core/validate.js'
import { hasLoneSurrogate } from '../../core/json.js'
import { describe } from '../../runtime/describe.js'
import { requireDepth } from './dialect.js'

const DEFAULT_SKILL = 'default'
const DEFAULT_TIMEOUT_MS = 300_000

interface InboundParams {
  readonly message: string
  readonly skill: string
  readonly timeoutMs: number
  /** Absent where the sender names none. */
  readonly depth: number | undefined
}

/**
 * Reads the parameters under `params`, or at the top level. Ignores unknown properties and reads `null` as absent, because
 * peers may run other versions.
 *
 * @throws {A2AError} `INVALID_PARAMS` with the name of the parameter; `LIMIT_EXCEEDED` for a `depth` of more than `maxDepth`.
 */
export function toInboundParams(body: unknown, maxDepth: number): InboundParams {
  const whole = readObject(body)
  const { message, skill, timeoutMs, depth } = readObject(whole['params'] ?? whole)
  return {
    message: readMessage(message),
    skill: readName(skill ?? DEFAULT_SKILL, 'skill'),
    timeoutMs: readTimeout(timeoutMs ?? DEFAULT_TIMEOUT_MS),
    depth: readDepth(depth ?? whole['depth'] ?? undefined, maxDepth),
  }
}

function readDepth(depth: unknown, maxDepth: number): number | undefined {
  if (depth === undefined) return undefined
  if (typeof depth !== 'number' || !Number.isSafeInteger(depth) || depth < 1) {
    const got = typeof depth === 'number' ? String(depth) : describe(depth)
    throw invalidParams('depth', `must be an integer from 1, got ${got}`)
  }
  requireDepth(depth, maxDepth)
  return depth
}

function readObject(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidParams('params', `must be an object, got ${describe(value)}`)
  }
  // Every property of an unchecked object is unknown.
  return value as Readonly<Record<string, unknown>>
}

function readMessage(message: unknown): string {
  if (message === undefined || message === null) throw invalidParams('message', 'is required')
  if (typeof message !== 'string')
    throw invalidParams('message', `must be a string, got ${describe(message)}`)
  if (message.trim() === '') throw invalidParams('message', 'is required')
  if (hasLoneSurrogate(message)) {
    throw invalidParams('message', 'has a lone surrogate, which UTF-8 cannot hold')
  }
  return message
}

function readTimeout(timeoutMs: unknown): number {
  if (typeof timeoutMs === 'number' && timeoutMs > 0 && timeoutMs < Infinity) return timeoutMs
  const got = typeof timeoutMs === 'number' ? String(timeoutMs) : describe(timeoutMs)
  throw invalidParams('timeoutMs', `must be a positive number of milliseconds, got ${got}`)
}
