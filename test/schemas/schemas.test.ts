import { describe, expect, test } from 'vitest'
import * as schemas from '../../src/schemas/index.js'
import { copy, examplesOf, issuePaths, NAMES } from './examples.js'

const NO_OBJECTS = ['JsonObject', 'JsonValue', 'JsonRpcId', 'Role', 'TaskState']

test('every object has examples', () => {
  const exported = Object.keys(schemas).map((name) => name.replace(/Schema$/, ''))
  expect([...NAMES, ...NO_OBJECTS].sort()).toEqual(exported.sort())
})

describe.each(NAMES)('%s', (name) => {
  const { schema, full, minimal } = examplesOf(name)

  test('parses to an equal value', () => {
    expect(schema.parse(full)).toEqual(full)
    expect(schema.parse(minimal)).toStrictEqual(minimal)
  })

  test('accepts objects only', () => {
    for (const other of [undefined, null, 'x', 1, true, [], [full]])
      expect(issuePaths(schema, other)).toEqual([''])
  })

  test('needs all that the minimal example has', () => {
    for (const key of Object.keys(minimal)) {
      const rest = copy(minimal)
      Reflect.deleteProperty(rest, key)
      expect(issuePaths(schema, rest), key).toEqual([isOneOf(name, key) ? '' : key])
    }
  })

  test('coerces nothing', () => {
    for (const path of leavesOf(full)) {
      for (const wrong of othersThan(at(full, path))) {
        const changed = copy(full)
        set(changed, path, wrong)
        expect(issuePaths(schema, changed), `${path.join('.')} = ${JSON.stringify(wrong)}`).toEqual([
          path.join('.'),
        ])
      }
    }
  })

  test('ignores unknown fields at every level', () => {
    expect(schema.parse(withUnknown(full))).toEqual(full)
  })
})

/** Without the one content that it has, it is the object that is wrong. */
function isOneOf(name: string, key: string): boolean {
  const members: Record<string, readonly string[]> = {
    Part: ['text'],
    StreamResponse: ['artifactUpdate'],
    SendMessageResponse: ['message'],
    OAuthFlows: ['implicit'],
    SecurityScheme: ['mtlsSecurityScheme'],
    JsonRpcResponse: ['result'],
  }
  return members[name]?.includes(key) ?? false
}

/** What holds any JSON, and maps, whose keys are the user's. */
const OPEN = ['data', 'metadata', 'params', 'header', 'result']
const MAPS = [...OPEN, 'securitySchemes', 'schemes', 'scopes']

type Path = (string | number)[]

/** The paths to everything in `value` that has a type. */
function leavesOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, member]) => {
    const step = Array.isArray(value) ? Number(key) : key
    // These hold any JSON at all; an id is a string, a number or null, and tested with the rules.
    if (key === 'data' || ('jsonrpc' in value && (key === 'params' || key === 'id'))) return []
    const below = OPEN.includes(key) ? [] : leavesOf(member, [...path, step])
    return [[...path, step], ...below]
  })
}

/** Values of every other JSON type, those among them that a lax parser would turn into `value`. */
function othersThan(value: unknown): unknown[] {
  const all = ['x', 1.5, true, null, [[]], { a: 1 }]
  const others = all.filter((other) => kind(other) !== kind(value))
  return typeof value === 'string' || kind(value) === 'object' || Array.isArray(value)
    ? others
    : [...others, String(value)]
}

function kind(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function at(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Record<string, unknown>)[key], value)
}

function set(value: unknown, path: Path, to: unknown): void {
  const parent = at(value, path.slice(0, -1)) as Record<string, unknown>
  parent[String(path.at(-1))] = to
}

/** `value` with an unknown field in every object whose fields are the protocol's. */
function withUnknown(value: unknown, key = ''): unknown {
  if (typeof value !== 'object' || value === null || OPEN.includes(key)) return value
  if (Array.isArray(value)) return value.map((element) => withUnknown(element))
  const copy = Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, withUnknown(member, name)]),
  )
  return MAPS.includes(key) ? copy : { ...copy, kind: 'x', final: true, unknown: { a: [1] } }
}
