/** Who does the turns of a replica: the process that accepts a message, a worker of any process, or one that BullMQ chooses. */
import { type DurableTaskManager } from '../../../src/durable/index.js'
import {
  createRequestHandler,
  createWorker,
  type Execute,
  type Principal,
  type RequestHandler,
} from '../../../src/server/index.js'

export interface Roles {
  readonly handler: RequestHandler<Principal, DurableTaskManager>
  /** Accepts nothing more, and does nothing more. */
  readonly close: (graceMs: number) => Promise<void>
}

interface Common {
  readonly card: { readonly name: string; readonly url: string }
  readonly tasks: DurableTaskManager
  readonly limits: { readonly waitingRunMs: number }
  readonly onError: (error: unknown, context: object) => void
}

const CONCURRENCY = 20

/**
 * @param work - `here`, `store` or `bullmq`.
 * @param queueUrl - The Redis of BullMQ.
 */
export async function rolesOf(
  work: string,
  queueUrl: string,
  { limits, ...common }: Common,
  execute: Execute,
): Promise<Roles> {
  if (work === 'here') {
    const handler = createRequestHandler<Principal, DurableTaskManager>({ ...common, limits, execute })
    return { handler, close: (graceMs) => handler.close({ graceMs }) }
  }
  const worker = createWorker({ ...common, limits, execute, concurrency: CONCURRENCY })
  const closeWorker = (graceMs: number): Promise<void> => worker.close({ graceMs })
  if (work === 'store') {
    const handler = createRequestHandler({ ...common, dispatch: work })
    worker.start()
    const close = async (graceMs: number): Promise<void> => {
      await Promise.all([handler.close({ graceMs }), closeWorker(graceMs)])
    }
    return { handler, close }
  }
  // Not everybody has installed it.
  const { Queue, Worker } = await import('bullmq')
  const connection = { url: queueUrl, maxRetriesPerRequest: null }
  const queue = new Queue('turns', { connection })
  const handler = createRequestHandler({
    ...common,
    dispatch: (turn) =>
      queue.add('turn', turn, { jobId: turn.id, removeOnComplete: true, removeOnFail: true, attempts: 100 }),
  })
  const consumer = new Worker<{ taskId: string }>('turns', ({ data }) => worker.run(data), {
    ...{ connection, concurrency: CONCURRENCY },
    // The lock of a process that has died.
    ...{ lockDuration: 3_000, stalledInterval: 1_000, maxStalledCount: 100 },
  })
  queue.on('error', () => undefined)
  consumer.on('error', () => undefined)
  const close = async (graceMs: number): Promise<void> => {
    await Promise.all([handler.close({ graceMs }), closeWorker(graceMs)])
    await consumer.close()
    await queue.close()
  }
  return { handler, close }
}
