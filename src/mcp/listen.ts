/**
 * `subscriptions/listen`: notifications of tasks.
 *
 * @module
 */
import type { JsonObject } from '../core/json-types.js'
import { isTerminal } from '../core/lifecycle.js'
import { onAbort } from '../runtime/abort.js'
import { recordOf } from '../runtime/unread.js'
import { lastMessage, missingTasks, type Answered, type Scene } from './answers.js'
import type { Call } from './protocol.js'
import { Refusal } from './refusal.js'
import { knownTask, left, seen, untilChanged, type Seen } from './remote-tasks.js'
import { detailedTaskOf } from './tasks.js'

/** The most tasks of one subscription. */
const MAX_TASKS = 100

/**
 * The stream begins with the tasks that it follows, and has each of them as it is, and after each change of its state or status
 * message. It ends when all have ended. The card does not change, so there is nothing else to tell.
 *
 * @throws {Refusal}
 */
export async function listen(scene: Scene, call: Call): Promise<Answered> {
  const { settings, tools, signal } = scene
  const { taskIds } = recordOf(call.params['notifications']) ?? {}
  if (taskIds !== undefined && !call.capabilities.tasks) throw missingTasks()
  const ids = await knownIds(scene, idsIn(taskIds))
  const stop = new AbortController()
  const channel = scene.openChannel(() => stop.abort(left()))
  const ignore = onAbort(signal, () => stop.abort(left()))
  const _meta = { 'io.modelcontextprotocol/subscriptionId': call.id }
  const tell = (method: string, params: JsonObject): void =>
    channel.write({ jsonrpc: '2.0', method, params: { ...params, _meta } })
  const agreed: JsonObject = taskIds === undefined ? {} : { taskIds: [...ids] }
  tell('notifications/subscriptions/acknowledged', { notifications: agreed })
  const show = async (id: string): Promise<Seen> => {
    const task = await knownTask(scene, id)
    tell('notifications/tasks', detailedTaskOf(task, settings, tools, call.capabilities))
    return seen(task)
  }
  const follow = async (id: string): Promise<void> => {
    while (!stop.signal.aborted) {
      const task = await show(id)
      if (isTerminal(task.state)) return
      await untilChanged(scene, task, stop.signal)
    }
  }
  const followed = Promise.all(ids.map(follow)).then(() => ({ _meta }))
  void lastMessage(scene, call, followed).then((message) => {
    channel.write(message)
    ignore()
    stop.abort(left())
    channel.end()
  })
  return { frames: channel.frames }
}

function idsIn(taskIds: unknown): readonly string[] {
  const ids: readonly unknown[] = Array.isArray(taskIds) ? taskIds : []
  const isRight = taskIds === undefined || (Array.isArray(taskIds) && ids.length <= MAX_TASKS)
  if (isRight && ids.every((id) => typeof id === 'string')) return [...new Set(ids)]
  throw new Refusal('params', `taskIds must be at most ${MAX_TASKS} ids of tasks`)
}

/** The tasks that the caller may see. */
async function knownIds(scene: Scene, ids: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(
    ids.map((id) =>
      knownTask(scene, id).then(
        () => [id],
        (error: unknown) => {
          if (error instanceof Refusal) return []
          throw error
        },
      ),
    ),
  )
  return found.flat()
}
