/**
 * Errors of failed steps, as the journal keeps them.
 *
 * @module
 */
import { A2AError, type ErrorCode, type ErrorData } from '../../core/errors.js'
import type { StepError } from '../../core/events.js'
import { JsonReader, wellFormed } from '../../core/json.js'
import type { ReadonlyJson } from '../../core/json-types.js'
import { describe } from '../../runtime/describe.js'

/** In UTF-16 units. A unit is at most 3 bytes of UTF-8, or 6 of JSON. */
const MAX_NAME = 100
const MAX_MESSAGE = 2_000
const MAX_STACK = 4_000
const DATA_LIMIT = { subject: 'Data of an error', option: 'the journal', maxBytes: 8_192 }
const MAX_DEPTH = 8

/**
 * What is stored of an error: the beginnings of its name and its message, its code, the data of an `A2AError`, and, if `hasStack`,
 * the beginning of its stack.
 */
export function toStepError(error: unknown, hasStack: boolean): StepError {
  const { name = 'Error', message = error, code, stack } = fieldsOf(error)
  const data = dataOf(error)
  return {
    name: beginningOf(name, MAX_NAME),
    message: beginningOf(message, MAX_MESSAGE),
    ...(isCode(code) && { code: typeof code === 'string' ? beginningOf(code, MAX_NAME) : code }),
    ...(data !== undefined && { data }),
    ...(hasStack && typeof stack === 'string' && { stack: beginningOf(stack, MAX_STACK) }),
  }
}

/** The error that a replay throws: code that looks at its name, message or code goes the same way as before. */
export function toError({ name, message, code, data }: StepError): Error {
  if (data !== undefined && typeof code === 'string') {
    // They are those of an error that had both.
    return new A2AError(code as ErrorCode, message, data as unknown as ErrorData[ErrorCode])
  }
  const error = Object.assign(new Error(message), { name })
  return code === undefined ? error : Object.assign(error, { code })
}

/** Code may throw any object, or an error of another realm. */
function fieldsOf(error: unknown): {
  readonly name?: unknown
  readonly message?: unknown
  readonly code?: unknown
  readonly stack?: unknown
} {
  return typeof error === 'object' && error !== null ? error : {}
}

function isCode(code: unknown): code is string | number {
  return typeof code === 'string' || Number.isFinite(code)
}

/** `undefined` for other errors, and for data that are no JSON or too large. */
function dataOf(error: unknown): ReadonlyJson | undefined {
  if (!A2AError.is(error)) return undefined
  try {
    const reader = new JsonReader(DATA_LIMIT, MAX_DEPTH)
    const data = reader.readObject(error.data, 'data')
    reader.check(data)
    return data
  } catch {
    return undefined
  }
}

/** As text that every store takes. */
function beginningOf(value: unknown, max: number): string {
  const text = toText(value)
  const beginning = text.length > max ? `${text.slice(0, max - 1)}…` : text
  return wellFormed(beginning.replaceAll('\0', '\ufffd'))
}

function toText(value: unknown): string {
  try {
    return String(value)
  } catch {
    return describe(value)
  }
}

/** A step that has failed, with the error that the code received. */
export interface FailedStep {
  readonly step: string
  readonly error: unknown
}

/** What is stored of an error that `execute` threw: with the name of the failed step, if it threw the error of that. */
export function causeOf(
  error: unknown,
  failed: FailedStep | undefined,
  hasStack: boolean,
): { readonly error: StepError; readonly step?: string } {
  const isStep = failed !== undefined && isCausedBy(error, failed.error)
  return { error: toStepError(error, hasStack), ...(isStep && { step: failed.step }) }
}

/** Whether `cause` is the error, or one that it names as its cause. */
function isCausedBy(error: unknown, cause: unknown): boolean {
  for (let each = error; each !== undefined; each = each instanceof Error ? each.cause : undefined) {
    if (each === cause) return true
  }
  return false
}
