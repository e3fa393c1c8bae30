/** Who does the turns of a replica: the process that accepts a message, a worker of any process, or one that a queue chooses. */
import { type DurableTaskManager } from '../../../src/durable/index.js'
import {
  createRequestHandler,
  createWorker,
  type Execute,
  type Principal,
  type RequestHandler,
} from '../../../src/server/index.js'
import type { Recipe } from '../engines/recipe.js'

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
 * @param work - `here`, `store`, or the file of a recipe.
 */
export async function rolesOf(work: string, { limits, ...common }: Common, execute: Execute): Promise<Roles> {
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
  // A recipe of the page about queues.
  const { dispatch, consume, close: closeQueue } = (await import(work)) as Recipe
  const handler = createRequestHandler({ ...common, dispatch })
  const stop = await consume((turn) => worker.run(turn))
  const close = async (graceMs: number): Promise<void> => {
    await Promise.all([handler.close({ graceMs }), closeWorker(graceMs), stop()])
    await closeQueue()
  }
  return { handler, close }
}
