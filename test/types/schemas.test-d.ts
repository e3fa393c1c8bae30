import { expectTypeOf, test } from 'vitest'
import * as classic from 'zod'
import type * as z from 'zod/mini'
import type { JsonObject as CoreJsonObject, Part as CorePart } from '../../src/index.js'
import * as schemas from '../../src/schemas/index.js'

test('nothing is any', () => {
  expectTypeOf<schemas.Part>().not.toBeAny()
  expectTypeOf<schemas.Message>().not.toBeAny()
  expectTypeOf<schemas.Message['parts'][number]>().not.toBeAny()
  expectTypeOf<schemas.Task>().not.toBeAny()
  expectTypeOf<schemas.StreamResponse>().not.toBeAny()
  expectTypeOf<schemas.SendMessageRequest['message']>().not.toBeAny()
  expectTypeOf<schemas.SendMessageRequest['metadata']>().not.toBeAny()
  expectTypeOf<schemas.AgentCard>().not.toBeAny()
  expectTypeOf<schemas.SecurityScheme>().not.toBeAny()
  expectTypeOf<schemas.JsonRpcRequest['params']>().not.toBeAny()
  expectTypeOf<schemas.JsonRpcResponse>().not.toBeAny()
})

test('a schema accepts its own output', () => {
  expectTypeOf<z.input<typeof schemas.SendMessageRequestSchema>>().toEqualTypeOf<schemas.SendMessageRequest>()
  expectTypeOf<z.input<typeof schemas.AgentCardSchema>>().toEqualTypeOf<schemas.AgentCard>()
})

test('optional properties are absent, not undefined', () => {
  expectTypeOf<schemas.GetTaskRequest>().toEqualTypeOf<{
    tenant?: string
    id: string
    historyLength?: number
  }>()
  // @ts-expect-error JSON has no undefined
  expectTypeOf<{ id: string; tenant: undefined }>().toExtend<schemas.GetTaskRequest>()
})

test('no index signatures', () => {
  expectTypeOf<string>().not.toExtend<keyof schemas.Message>()
  expectTypeOf<string>().not.toExtend<keyof schemas.Task>()
  expectTypeOf<string>().not.toExtend<keyof schemas.Part>()
  expectTypeOf<string>().not.toExtend<keyof schemas.AgentCard>()
})

test('the type of a part equals that of the core', () => {
  expectTypeOf<schemas.Part>().toExtend<CorePart>()
  expectTypeOf<CorePart>().toExtend<schemas.Part>()
  expectTypeOf<schemas.JsonObject>().toEqualTypeOf<CoreJsonObject>()
})

test('one content, one result', () => {
  expectTypeOf<{ text: string; filename: string }>().toExtend<schemas.Part>()
  const parts: schemas.Part[] = [{ data: null }]
  // @ts-expect-error a part has one content
  parts.push({ text: 'a', url: 'b' })
  // @ts-expect-error a part has a content
  parts.push({ filename: 'a' })
  const responses: schemas.JsonRpcResponse[] = [{ jsonrpc: '2.0', id: null, result: null }]
  // @ts-expect-error a response has one of them
  responses.push({ jsonrpc: '2.0', id: 1, result: 1, error: { code: 1, message: '' } })
  const events: schemas.StreamResponse[] = []
  // @ts-expect-error an event is one of four
  events.push({})
})

test('a content is identified by its property', () => {
  const text = (part: schemas.Part): string => (part.text !== undefined ? part.text : '')
  expectTypeOf(text).returns.toBeString()
  const answer = (response: schemas.StreamResponse): schemas.Task | undefined => response.task
  expectTypeOf(answer).returns.toEqualTypeOf<schemas.Task | undefined>()
})

test('the schemas compose with those of zod', () => {
  const Envelope = classic.object({
    message: schemas.MessageSchema,
    parts: classic.array(schemas.PartSchema),
  })
  expectTypeOf(Envelope.parse({})).toEqualTypeOf<{
    message: schemas.Message
    parts: schemas.Part[]
  }>()
})
