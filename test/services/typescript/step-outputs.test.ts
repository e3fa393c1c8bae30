/** What the AI SDK, Drizzle, Prisma and `fetch` return is the output of a step without a cast, against the built declarations. */
import { mkdirSync, symlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { Consumer } from '../../support/consumer.js'
import { typeFaultsOf } from '../../support/type-faults.js'
import { skipMissing } from '../installed.js'

const PACKAGES = ['ai', 'drizzle-orm', '@prisma/client', '@types/node']

const consumer = new Consumer()
consumer.install('zod', 'eventemitter3')
for (const name of PACKAGES) {
  const link = `${consumer.folder}/node_modules/${name}`
  mkdirSync(dirname(link), { recursive: true })
  symlinkSync(fileURLToPath(new URL(`../node_modules/${name}`, import.meta.url)), link, 'junction')
}
afterAll(() => {
  consumer.remove()
})

const PROGRAM = `
import { generateText, type LanguageModel, type ModelMessage } from 'ai'
import { drizzle } from 'drizzle-orm/node-postgres'
import { customType, bigint, integer, jsonb, pgTable, text, timestamp } from 'drizzle-orm/pg-core'
import type { JsonValue } from '@prisma/client/runtime/client'
import type { Run } from 'a2a-tasks/server'

declare const run: Run
declare const model: LanguageModel

// AI SDK
const answer = await run.step('ask', async () => {
  const { text, usage, responseMessages, finishReason, warnings } = await generateText({ model, prompt: 'Hello' })
  return { text, usage, responseMessages, finishReason, warnings }
})
const history: ModelMessage[] = answer.responseMessages
const tokens: number | undefined = answer.usage.inputTokens
const usage = await run.step('usage', async () => (await generateText({ model, prompt: 'Hello' })).usage)
const total: number | undefined = usage.totalTokens

// Drizzle
const bytes = customType<{ data: Uint8Array }>({ dataType: () => 'bytea' })
const orders = pgTable('orders', {
  id: integer().primaryKey(),
  at: timestamp().notNull(),
  total: bigint({ mode: 'bigint' }),
  note: text(),
  lines: jsonb().$type<{ readonly sku: string }[]>(),
  scan: bytes(),
  raw: jsonb(),
})
declare const db: ReturnType<typeof drizzle>
const rows = await run.step('rows', () => db.select().from(orders))
const at: Date | undefined = rows[0]?.at
const one = await run.step('one', async () => (await db.select().from(orders))[0])
const scan: Uint8Array | null | undefined = one?.scan

// Prisma: a model as its generator writes it
interface Order {
  id: number
  at: Date
  total: bigint
  note: string | null
  scan: Uint8Array<ArrayBuffer>
  lines: JsonValue
}
declare const prisma: { order: { findMany(): Promise<Order[]> } }
const found = await run.step('find', () => prisma.order.findMany())
const lines: JsonValue | undefined = found[0]?.lines

// fetch
const body = await run.step('body', async () => (await fetch('https://example.com')).json())
void [history, tokens, total, at, scan, lines, body]
// @ts-expect-error A stream is no data.
await run.step('stream', async () => (await fetch('https://example.com')).body)
// @ts-expect-error A response is no data.
await run.step('response', () => fetch('https://example.com'))
`

test('compile', { timeout: 120_000 }, (context) => {
  skipMissing(context, ...PACKAGES)
  expect(typeFaultsOf(consumer, [consumer.write('step-outputs.mts', PROGRAM)])).toEqual([])
})
