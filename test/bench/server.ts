/**
 * The server without HTTP: JSON in, JSON out.
 *
 * Ours is `handler.dispatch`, the peer's is `JsonRpcTransportHandler.handle`; both get the same bodies, one after the
 * other, each with its own context, as their HTTP layers make it. Both check the body, keep a new task with the
 * user's message, run the executor, store what it does and make the answer's JSON; that the answers are alike is
 * verified. Ours tells a stream, if there were one, of the task, the message, `working`, and `completed` with the
 * artifact; the peer's executor publishes the task with `working`, the artifact and `completed`. Each round begins with
 * an empty store on both sides, which is untimed.
 */
import { JsonRpcTransportHandler, ServerCallContext } from '@a2a-js/sdk/server'
import type * as Server from 'a2a-tasks/server'
import type { RequestHandler } from 'a2a-tasks/server'
import type { Build } from './build.js'
import { CHUNKS, chunkText, officialInChunks, oursInChunks } from './chunks.js'
import { loadDurable } from './durable-stores.js'
import { compare, type Variant } from './harness.js'
import { answerWith, executorOf, officialHandler, type Work as Executed } from './peers/official-server.js'
import { fasterThan, type Row } from './report.js'
import { getBody, REPLY, requireCompleted, sendBody, type RpcAnswer, type RpcBody } from './requests.js'
import { expectEqual, OFFICIAL, shuffled, type Case, type Work } from './workload.js'

/** Answers one body, with JSON or a stream of it. */
type Dispatch = (body: RpcBody) => Promise<unknown>

const VERSION = '1.0'
const CARD = { name: 'Bench', url: 'http://localhost/' }

async function loadServer({ url }: Build): Promise<typeof Server> {
  // What was built from src/server/index.ts has its exports.
  return (await import(new URL('server/index.js', url).href)) as typeof Server
}

function oursWith(handler: Pick<RequestHandler, 'dispatch'>): Dispatch {
  return (body) => handler.dispatch(body, { version: VERSION })
}

/** How a body gets into a handler. */
type Way = (handler: RequestHandler) => Dispatch

/** As a web server does: with a `Request`, a `Response`, and the text of their bodies. */
function byFetch(handler: Pick<RequestHandler, 'fetch'>): Dispatch {
  const headers = { 'content-type': 'application/json', 'a2a-version': VERSION }
  return async (body) => {
    const request = new Request(CARD.url, { method: 'POST', headers, body: JSON.stringify(body) })
    return (await handler.fetch(request)).json()
  }
}

function officialWith(work: (text: string) => Executed): Dispatch {
  const transport = new JsonRpcTransportHandler(officialHandler(executorOf(work)))
  return (body) => transport.handle(body, new ServerCallContext({ requestedVersion: VERSION }))
}

const SENDS = 2_000

function sending(make: () => Dispatch | Promise<Dispatch>, ops = SENDS): Variant {
  let dispatch: Dispatch | undefined
  let bodies: RpcBody[] = []
  return {
    ops,
    before: async () => {
      dispatch = await make()
      bodies = Array.from({ length: ops }, (_, index) => sendBody(index))
    },
    run: async () => {
      // Both answer with what JSON-RPC says.
      for (const body of bodies) requireCompleted(((await dispatch?.(body)) as RpcAnswer).result?.task)
    },
  }
}

export async function sendOurs(build: Build, way: Way = oursWith): Promise<Variant> {
  const { createRequestHandler } = await loadServer(build)
  const { TaskManager } = build.library
  return sending(() =>
    way(
      createRequestHandler({
        card: CARD,
        execute: () => REPLY,
        // Neither side drops a task.
        tasks: new TaskManager({ maxTasks: SENDS }),
      }),
    ),
  )
}

export function sendOfficial(): Variant {
  return sending(() => officialWith(() => answerWith(REPLY)))
}

const DURABLE_SENDS = 500

/** Over `memoryStore`: each task is stored before its code runs, and at each change. */
export async function sendDurable(build: Build): Promise<Variant> {
  const { createRequestHandler } = await loadServer(build)
  const { DurableTaskManager, memoryStore } = await loadDurable(build)
  let close = (): Promise<void> => Promise.resolve()
  const variant = sending(async () => {
    await close()
    const tasks = new DurableTaskManager({ store: memoryStore() })
    const handler = createRequestHandler({
      ...{ card: CARD, execute: () => REPLY, tasks, anonymous: 'shared' as const },
    })
    close = async () => {
      await handler.close({ graceMs: 0 })
      await tasks.destroy()
    }
    return oursWith(handler)
  }, DURABLE_SENDS)
  return { ...variant, close: () => close() }
}

async function send(build: Build): Promise<Row[]> {
  const plan = { rounds: 15, warmUpOps: 3 * SENDS }
  const times = await compare(await sendOurs(build), sendOfficial(), plan)
  return [fasterThan('SendMessage to completion, in process', OFFICIAL, times, { gate: 4, goal: 7 })]
}

const HELD = 1_000
const GETS = 10_000

async function getting(dispatch: Dispatch): Promise<Variant> {
  const ids: string[] = []
  for (let index = 0; index < HELD; index++) {
    ids.push(requireCompleted(((await dispatch(sendBody(index))) as RpcAnswer).result?.task).id)
  }
  const order = shuffled(ids)
  const bodies = Array.from({ length: GETS }, (_, index) => getBody(index, order[index % HELD] ?? ''))
  return {
    ops: GETS,
    run: async () => {
      // The task itself is the result.
      for (const body of bodies) {
        requireCompleted(
          ((await dispatch(body)) as { result?: Parameters<typeof requireCompleted>[0] }).result,
        )
      }
    },
  }
}

export async function getOurs(build: Build, way: Way = oursWith): Promise<Variant> {
  const { createRequestHandler } = await loadServer(build)
  return getting(way(createRequestHandler({ card: CARD, execute: () => REPLY })))
}

export function getOfficial(): Promise<Variant> {
  return getting(officialWith(() => answerWith(REPLY)))
}

async function get(build: Build): Promise<Row[]> {
  const plan = { rounds: 15, warmUpOps: 2 * GETS }
  const times = await compare(await getOurs(build), await getOfficial(), plan)
  return [fasterThan('GetTask out of 1,000, in process', OFFICIAL, times, { gate: 3, goal: 5 })]
}

/** A run of ours takes milliseconds, one of the peer's seconds. */
const OUR_RUNS = 50

/** A client that takes every event; each chunk must come, in order. */
async function readStream(dispatch: Dispatch, index: number): Promise<void> {
  let chunks = 0
  // The method streams.
  const events = (await dispatch(sendBody(index, 'SendStreamingMessage'))) as AsyncIterable<RpcAnswer>
  for await (const { error, result } of events) {
    if (error !== undefined) throw new Error(JSON.stringify(error))
    const text = result?.artifactUpdate?.artifact.parts?.[0]?.text
    if (text === undefined) continue
    if (text !== chunkText(chunks)) throw new Error(`Chunk ${chunks} is "${text}"`)
    chunks += 1
  }
  expectEqual(chunks, CHUNKS, 'chunks that the client got')
}

function reading(runs: number, make: () => Dispatch): Variant {
  return {
    ops: CHUNKS * runs,
    run: async () => {
      const dispatch = make()
      for (let run = 0; run < runs; run++) await readStream(dispatch, run)
    },
  }
}

async function streamOurs(build: Build, runs: number): Promise<Variant> {
  const { createRequestHandler } = await loadServer(build)
  return reading(runs, () => oursWith(createRequestHandler({ card: CARD, execute: oursInChunks })))
}

async function stream(build: Build): Promise<Row[]> {
  const ours = await streamOurs(build, OUR_RUNS)
  const peer = reading(1, () => officialWith(() => officialInChunks))
  const times = await compare(ours, peer, { rounds: 3, warmUpOps: CHUNKS })
  return [
    fasterThan('SendStreamingMessage, 2,000 chunks, a chunk', OFFICIAL, times, { gate: 500, goal: 1_000 }),
  ]
}

const WARM_SENDS = { warmUpOps: 3 * SENDS }
const WARM_GETS = { warmUpOps: 2 * GETS }

export const serverWorks: readonly Work[] = [
  { name: 'SendMessage in process', open: (build) => sendOurs(build), ...WARM_SENDS },
  { name: 'SendMessage by fetch', open: (build) => sendOurs(build, byFetch), ...WARM_SENDS },
  { name: 'GetTask in process', open: (build) => getOurs(build), ...WARM_GETS },
  { name: 'GetTask by fetch', open: (build) => getOurs(build, byFetch), ...WARM_GETS },
  { name: 'SendStreamingMessage, a chunk of 2,000', open: (build) => streamOurs(build, 5) },
  { name: 'SendMessage over memoryStore', open: sendDurable },
]

export const serverCases: readonly Case[] = [
  { name: 'server: SendMessage in process', run: send },
  { name: 'server: GetTask in process', run: get },
  { name: 'server: SendStreamingMessage, 2,000 chunks', run: stream },
]
