/** Requests in the forms of ProtoJSON, against the official parser. */
import {
  fromJson,
  ScalarType,
  toJson,
  type DescField,
  type DescMessage,
  type JsonValue,
} from '@bufbuild/protobuf'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { paramsOf } from '../../../src/server/binding/rest.js'
import { v1, v1Client, type Codec } from '../../../src/wire/index.js'
import { messageType } from '../support/a2a-proto.js'
import { overTheWire, sendRequest } from '../support/arbitraries.js'

type Json = Record<string, JsonValue>
type Choose = (count: number) => number

const { rpc } = v1()

function read(operation: 'SendMessage' | 'ListTasks', params: unknown): unknown {
  const codec = rpc[operation] as Codec<unknown, never> | undefined
  return withoutEmptyLists(codec?.decode(params))
}

/** A list without elements is the same as none, and so is `false`. */
function withoutEmptyLists(request: unknown): unknown {
  const copy = overTheWire(request) as { message?: Record<string, unknown> }
  for (const name of ['extensions', 'referenceTaskIds']) {
    const list = copy.message?.[name]
    if (Array.isArray(list) && list.length === 0) delete copy.message?.[name]
  }
  return copy
}

/** The canonical form. */
function canonical(type: DescMessage, json: JsonValue): Json {
  return overTheWire(toJson(type, fromJson(type, json, { ignoreUnknownFields: true }))) as Json
}

function isFree({ message }: DescField): boolean {
  return message?.typeName.startsWith('google.protobuf.') ?? false
}

function respellValue(field: DescField, value: JsonValue, choose: Choose): JsonValue {
  if (Array.isArray(value) && field.fieldKind === 'list') {
    return value.map((each) => (field.message === undefined ? each : respell(field.message, each, choose)))
  }
  if (field.enum !== undefined && choose(2) === 0) {
    return field.enum.values.find(({ name }) => name === value)?.number ?? value
  }
  if (typeof value === 'number' && field.fieldKind === 'scalar') {
    return [value, String(value), value.toExponential()][choose(3)] ?? value
  }
  if (field.message !== undefined && !isFree(field)) return respell(field.message, value, choose)
  return value
}

/** A field that is not there, as some write it. */
function absent(field: DescField, choose: Choose): JsonValue | undefined {
  if (field.oneof !== undefined) return undefined
  const isText = field.fieldKind === 'scalar' && field.scalar === ScalarType.STRING
  const forms = [undefined, null, ...(isText ? [''] : []), ...(field.fieldKind === 'list' ? [[]] : [])]
  return forms[choose(forms.length)]
}

/** The same message in other words. */
function respell(type: DescMessage, json: JsonValue, choose: Choose): JsonValue {
  const given = json as Json
  const entries = type.fields.flatMap((field) => {
    const name = choose(2) === 0 ? field.name : field.jsonName
    const value = given[field.jsonName]
    const other = value === undefined ? absent(field, choose) : respellValue(field, value, choose)
    return other === undefined ? [] : [[name, other] as const]
  })
  return Object.fromEntries([...entries, ['unknown_field', { task_id: 1, taskId: 2 }]])
}

const choices = fc.infiniteStream(fc.nat(59))
function chooser(stream: Iterator<number>): Choose {
  return (count) => Number(stream.next().value) % count
}

const listRequest = fc.record(
  {
    contextId: fc.string({ minLength: 1 }),
    status: fc.constantFrom('TASK_STATE_WORKING', 'TASK_STATE_AUTH_REQUIRED', 'TASK_STATE_SUBMITTED'),
    pageSize: fc.integer({ min: 1, max: 100 }),
    pageToken: fc.string({ minLength: 1 }),
    historyLength: fc.nat(100),
    statusTimestampAfter: fc.constant('2026-01-01T00:00:00Z'),
    includeArtifacts: fc.boolean(),
  },
  { requiredKeys: [] },
)
const request = fc.oneof(
  sendRequest.map((each) => ['SendMessage', overTheWire(v1Client.rpc.SendMessage?.encode(each))] as const),
  listRequest.map((each) => ['ListTasks', overTheWire(each)] as const),
)

test('a request in any form of ProtoJSON is read as in the canonical form', () => {
  fc.assert(
    fc.property(request, choices, ([operation, given], stream) => {
      const type = messageType(`${operation}Request`)
      const plain = canonical(type, given as JsonValue)
      const other = respell(type, plain, chooser(stream))
      expect(canonical(type, other)).toStrictEqual(plain)
      expect(read(operation, other)).toStrictEqual(read(operation, plain))
    }),
    { numRuns: 150 },
  )
})

const WRONG: readonly JsonValue[] = ['', 'x', '0x', ' 1', 1.5, 2 ** 40, '1e40', true, 'true', {}, [], [null]]

/** Changes one field, or gives it by both of its names. */
function damage(type: DescMessage, json: JsonValue, choose: Choose): JsonValue {
  const given = json as Json
  const field = type.fields[choose(type.fields.length)]
  if (field === undefined) return json
  const value = given[field.jsonName]
  if (value !== undefined && field.message !== undefined && !isFree(field) && choose(3) > 0) {
    const { message } = field
    const inside = (each: JsonValue): JsonValue => damage(message, each, choose)
    return { ...given, [field.jsonName]: Array.isArray(value) ? value.map(inside) : inside(value) }
  }
  const wrong = WRONG[choose(WRONG.length)] ?? null
  const isTwice = field.name !== field.jsonName && choose(2) === 0
  return { ...given, [field.jsonName]: wrong, ...(isTwice && { [field.name]: value ?? null }) }
}

test('JSON that a ProtoJSON parser refuses is refused', () => {
  let refused = 0
  fc.assert(
    fc.property(request, choices, ([operation, given], stream) => {
      const type = messageType(`${operation}Request`)
      const bad = damage(type, canonical(type, given as JsonValue), chooser(stream))
      try {
        fromJson(type, bad, { ignoreUnknownFields: true })
      } catch {
        refused += 1
        expect(() => read(operation, bad), JSON.stringify(bad)).toThrow()
      }
    }),
    { numRuns: 300 },
  )
  expect(refused).toBeGreaterThan(50)
})

test('a parameter in the path overrides both of its names in the body', () => {
  const route = { verb: 'POST', path: '/x', operation: 'CreateTaskPushNotificationConfig' } as const
  const body = { task_id: 'other', taskId: 'another', url: 'https://a.example' }
  expect(paramsOf(route, new URLSearchParams(), body, { taskId: 't' })).toStrictEqual({
    taskId: 't',
    url: 'https://a.example',
  })
})
