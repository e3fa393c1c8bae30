/**
 * Checks of an answer by the JSON Schema of its question, in processes that do not have the code which asks.
 *
 * The check finds what is certainly wrong. It takes at most {@link MAX_CHECKS} steps, follows references only within the
 * schema, uses no patterns, and passes over keywords that it does not know: the agent's own schema has the last word.
 *
 * @module
 */
import { isRecord, type Unread } from '../../runtime/unread.js'
import { resolved } from './form.js'

/** Where a value breaks its schema, and how. */
export interface Violation {
  /** Such as `.days[0]`. Empty for the value itself. */
  readonly path: string
  readonly reason: string
}

/** How many pairs of a schema and a value are looked at. Large lists that one pair takes to check count for several. */
const MAX_CHECKS = 10_000
/** So many elements of a list cost as much as a pair. */
const PER_CHECK = 10
const MAX_DEPTH = 64
const MAX_TYPES = 10
/** The most characters of an allowed value in a reason. */
const MAX_SHOWN = 50

interface Checking {
  readonly root: Unread
  left: number
}

/** The first thing that is wrong with `value`; `undefined` if the check finds nothing. */
export function violationOf(schema: unknown, value: unknown): Violation | undefined {
  if (!isRecord(schema)) return undefined
  return violation(schema, value, '', { root: schema, left: MAX_CHECKS }, 0)
}

type Check = (
  schema: Unread,
  value: unknown,
  path: string,
  checking: Checking,
  depth: number,
) => Violation | undefined

const violation = (
  given: unknown,
  value: unknown,
  path: string,
  checking: Checking,
  depth: number,
): Violation | undefined => {
  checking.left -= 1
  if (checking.left < 0 || depth > MAX_DEPTH) return undefined
  const schema = resolved(given, checking.root)
  if (!isRecord(schema)) return undefined
  for (const check of CHECKS) {
    const found = check(schema, value, path, checking, depth)
    if (found !== undefined) return found
  }
  return undefined
}

const checkType: Check = ({ type }, value, path) => {
  const types: readonly unknown[] = Array.isArray(type) ? type : type === undefined ? [] : [type]
  if (types.length > MAX_TYPES) return undefined
  const known = types.filter((each) => TYPES.has(each as string))
  if (known.length === 0 || known.length < types.length || known.some((each) => isOfType(each, value)))
    return undefined
  return { path, reason: `must be ${known.map((each) => TYPES.get(each as string)).join(' or ')}` }
}

const TYPES: ReadonlyMap<string, string> = new Map([
  ['string', 'a text'],
  ['number', 'a number'],
  ['integer', 'a whole number'],
  ['boolean', 'true or false'],
  ['object', 'an object'],
  ['array', 'a list'],
  ['null', 'null'],
])

function isOfType(type: unknown, value: unknown): boolean {
  switch (type) {
    case 'integer':
      return Number.isInteger(value)
    case 'object':
      return isRecord(value)
    case 'array':
      return Array.isArray(value)
    case 'null':
      return value === null
    default:
      return typeof value === type
  }
}

const checkValues: Check = (schema, value, path, checking) => {
  const { enum: values } = schema
  const allowed = Array.isArray(values) ? values : 'const' in schema ? [schema['const']] : undefined
  checking.left -= (allowed?.length ?? 0) / PER_CHECK
  // Options of questions are not nested: others are left to the agent.
  if (allowed === undefined || allowed.some(isNested) || allowed.includes(value)) return undefined
  const shown = allowed
    .slice(0, 10)
    .map((each) =>
      JSON.stringify(typeof each === 'string' ? each.slice(0, MAX_SHOWN) : each).slice(0, MAX_SHOWN),
    )
  const more = allowed.length > shown.length ? ', …' : ''
  return { path, reason: `must be ${shown.length === 1 ? '' : 'one of '}${shown.join(', ')}${more}` }
}

function isNested(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

const checkBounds: Check = (schema, value, path) => {
  if (typeof value === 'number') {
    const { minimum, maximum } = schema
    if (typeof minimum === 'number' && value < minimum) return { path, reason: `must be at least ${minimum}` }
    if (typeof maximum === 'number' && value > maximum) return { path, reason: `must be at most ${maximum}` }
    return undefined
  }
  const size = typeof value === 'string' ? value.length : Array.isArray(value) ? value.length : undefined
  if (size === undefined) return undefined
  const [min, max, unit] =
    typeof value === 'string'
      ? [schema['minLength'], schema['maxLength'], 'characters']
      : [schema['minItems'], schema['maxItems'], 'elements']
  // The schema counts a character as one, and JavaScript as one or two.
  if (typeof min === 'number' && size < min) return { path, reason: `must have at least ${min} ${unit}` }
  if (typeof max === 'number' && size > max * 2) return { path, reason: `must have at most ${max} ${unit}` }
  return undefined
}

const checkProperties: Check = (schema, value, path, checking, depth) => {
  if (!isRecord(value)) return undefined
  const { properties, required, additionalProperties } = schema
  const known = isRecord(properties) ? properties : {}
  const needed: readonly unknown[] = Array.isArray(required) ? required : []
  checking.left -= needed.length
  for (const name of needed)
    if (typeof name === 'string' && !Object.hasOwn(value, name))
      return { path: pathTo(path, name), reason: 'is missing' }
  const names = Object.keys(value)
  checking.left -= names.length / PER_CHECK
  for (const name of names) {
    if (checking.left < 0) return undefined
    const inner = value[name]
    const at = pathTo(path, name)
    const isKnown = Object.hasOwn(known, name)
    if (!isKnown && additionalProperties === false) return { path: at, reason: 'is unknown' }
    const found = violation(isKnown ? known[name] : additionalProperties, inner, at, checking, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}

function pathTo(path: string, name: string): string {
  return `${path}.${name.slice(0, 100)}`
}

const checkItems: Check = ({ items, prefixItems }, value, path, checking, depth) => {
  if (!Array.isArray(value)) return undefined
  const first: readonly unknown[] = Array.isArray(prefixItems) ? prefixItems : []
  for (const [index, inner] of (value as readonly unknown[]).entries()) {
    if (checking.left < 0) return undefined
    const found = violation(first[index] ?? items, inner, `${path}[${index}]`, checking, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}

const checkAlternatives: Check = ({ anyOf, oneOf, allOf }, value, path, checking, depth) => {
  for (const each of Array.isArray(allOf) ? (allOf as readonly unknown[]) : []) {
    const found = violation(each, value, path, checking, depth + 1)
    if (found !== undefined) return found
  }
  for (const any of [anyOf, oneOf]) {
    if (!Array.isArray(any) || any.length === 0) continue
    let first: Violation | undefined
    let isMet = false
    for (const each of any as readonly unknown[]) {
      const found = violation(each, value, path, checking, depth + 1)
      isMet ||= found === undefined
      first ??= found
      if (isMet) break
    }
    if (!isMet)
      return any.length === 1 ? first : { path, reason: 'must be one of the kinds that the schema lists' }
  }
  return undefined
}

const CHECKS = [checkType, checkValues, checkBounds, checkProperties, checkItems, checkAlternatives] as const
