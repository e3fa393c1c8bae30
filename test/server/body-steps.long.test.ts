/** Each step on the way of a body through a server or a client, for bodies of every shape. */
import { TaskManager } from 'a2a-tasks'
import { describe, expect, test } from 'vitest'
import { withJoinedTexts } from '../../src/core/artifacts/append-parts.js'
import { copyJson, sizeOf } from '../../src/core/json.js'
import { parseJson } from '../../src/http/json.js'
import { systemClock } from '../../src/runtime/clock.js'
import { BodyReader } from '../../src/server/binding/body.js'
import type { HttpRequest } from '../../src/server/binding/exchange.js'
import { jsonPieces } from '../../src/server/binding/json-pieces.js'
import { requireSafeJson } from '../../src/server/binding/safe-json.js'
import { requireSame } from '../../src/server/idempotency.js'
import { v1Client } from '../../src/wire/client/v1.js'
import { v0_3Client } from '../../src/wire/client/v0-3.js'
import { v0_3 } from '../../src/wire/v0-3/dialect.js'
import { v1 } from '../../src/wire/v1/dialect.js'
import { bodyOf, parseMs, SHAPES, timesAsLong, toLegacy } from './support/shapes.js'

/** The slowest step, with keys that are numbers, takes up to 40 times as long as `JSON.parse` on an idle machine. */
const FACTOR = 120
const MAX_DEPTH = 200
const DIALECTS = {
  '1.0': { server: v1(), client: v1Client },
  '0.3': { server: v0_3(), client: v0_3Client },
} as const
type Version = keyof typeof DIALECTS

/** The steps, by what they do. */
async function stepsOf(text: string, version: Version): Promise<Readonly<Record<string, () => unknown>>> {
  const { server, client } = DIALECTS[version]
  const { SendMessage: send, GetTask: get } = server.rpc
  const { GetTask: received } = client.rpc
  if (send === undefined || get === undefined || received === undefined) throw new Error('All have them')
  const bytes = new TextEncoder().encode(text)
  const request = { header: () => 'application/json', read: () => Promise.resolve(bytes) }
  const limits = { maxBodyBytes: 1e8, bodyTimeoutMs: 1e6, maxBodyBytesInFlight: 1e8, maxNodes: 1e8 }
  const reader = new BodyReader(limits, systemClock)
  // The request has what reading a body needs, and the body has parameters.
  const read = async (): Promise<{ readonly params: object }> =>
    (await reader.readJson(request as unknown as HttpRequest, ['application/json'])) as never
  const [{ params }, again] = [await read(), await read()]
  const message = { ...send.decode(params).message, messageId: 'm' }
  const repeated = send.decode(again.params).message
  const artifact = { artifactId: 'a', parts: message.parts }
  const tasks = new TaskManager()
  const create = (): string => tasks.createTask({ skill: 'x' }).id
  const task = tasks.updateTask(create(), { artifacts: [artifact] })
  const encoded = get.encode({ task })
  const written = JSON.stringify(encoded)
  return {
    'reads the body': read,
    'checks its values': () => requireSafeJson(params, MAX_DEPTH),
    'decodes its message': () => send.decode(params),
    'keeps the message': () => tasks.addMessage(create(), message),
    'keeps it as an artifact': () => tasks.appendArtifact(create(), artifact),
    'compares it with one that came before': () => requireSame(message, repeated),
    'measures it': () => sizeOf(task),
    'copies it': () => copyJson(task),
    'joins its texts': () => task.artifacts.map((each) => withJoinedTexts(each)),
    'encodes the task': () => get.encode({ task }),
    'writes the answer': () => [...jsonPieces(encoded)],
    'parses the answer': () => parseJson(written, MAX_DEPTH),
    'decodes the answer': () => received.decode(encoded),
  }
}

describe.each(Object.keys(DIALECTS) as Version[])('by %s', (version) => {
  test.each(SHAPES.map(([name, parts, json]) => ({ name, parts, json })))(
    '$name',
    async ({ parts, json }) => {
      const isNew = version === '1.0'
      const message = isNew
        ? { messageId: 'm', role: 'ROLE_USER', parts }
        : { messageId: 'm', role: 'user', kind: 'message', parts: parts.map(toLegacy) }
      const text = bodyOf({ jsonrpc: '2.0', id: 1, method: 'x', params: { message } }, json)
      const parse = await parseMs(text)
      const slow: string[] = []
      for (const [name, step] of Object.entries(await stepsOf(text, version))) {
        const times = await timesAsLong(parse, step, FACTOR)
        if (times > FACTOR) slow.push(`${name}: ${Math.round(times)} times as long`)
      }
      expect(slow).toEqual([])
    },
  )
})
