/**
 * Audited actions of users on tasks.
 *
 * @module
 */
import { maxMessageBytes, readBody } from '../body.js'
import { describeFailure, Refusal } from '../refusal.js'
import { jsonResponse } from '../responses.js'
import { listTasks } from '../source/listing.js'
import { audit, type Call } from './call.js'
import {
  optionalText,
  readAnswers,
  readGeneration,
  readListQuery,
  readParts,
  requiredText,
} from './parameters.js'

export async function send(call: Call): Promise<Response> {
  const maySend = call.scope.actions.has('send') || call.scope.actions.has('answer')
  const body = await readBody(call, maySend ? maxMessageBytes(call.settings) : undefined)
  const parts = readParts(body)
  const taskId = optionalText(body, 'taskId')
  const contextId = optionalText(body, 'contextId')
  if (taskId !== undefined) await call.source.task(call.scope, taskId)
  await audit(call, taskId === undefined ? 'send' : 'answer', taskId === undefined ? undefined : { taskId })
  return jsonResponse(await call.source.send(call.scope, { parts, taskId, contextId }))
}

/** Begins a new task with the first message of this one. */
export async function again(call: Call, taskId: string): Promise<Response> {
  await readBody(call)
  const { messages } = await call.source.task(call.scope, taskId)
  const first = messages.find(({ role }) => role === 'user')
  if (first === undefined) throw new Refusal(409, 'The task has no message that could be sent again')
  await audit(call, 'send', { taskId })
  return jsonResponse(await call.source.send(call.scope, { parts: first.parts, like: taskId }))
}

/** The most tasks in each state that one request changes. */
const MAX_CHANGED = 200

/** Cancels the tasks that match and have not ended, latest change first. `hasMore`: there are further ones. */
export async function cancelAll(call: Call): Promise<Response> {
  const { source, scope } = call
  await readBody(call)
  const query = { ...readListQuery(call.query), pageSize: MAX_CHANGED }
  const { states, terminal } = source.lifecycle
  const live = states.filter((state) => !terminal.includes(state) && (query.state ?? state) === state)
  let canceled = 0
  let hasMore = false
  for (const state of live) {
    const found = await listTasks(source.page.bind(source), scope, { ...query, state })
    hasMore ||= found.nextCursor !== undefined
    for (const { id } of found.tasks) {
      await audit(call, 'cancel', { taskId: id })
      canceled += await countOf(async () => source.cancel(scope, await source.task(scope, id)))
    }
  }
  return jsonResponse({ canceled, hasMore })
}

/** Redrives the dead letters that match, latest change first. `refused`: how many could not be redriven. */
export async function redriveAll(call: Call): Promise<Response> {
  const { source, scope } = call
  await readBody(call)
  const { state = FAILED, ...query } = readListQuery(call.query)
  if (state !== FAILED) return jsonResponse({ redriven: 0, refused: 0, hasMore: false })
  const letters = { ...query, pageSize: MAX_CHANGED }
  const { tasks, nextCursor } = await listTasks(source.deadLetters.bind(source), scope, letters)
  let redriven = 0
  for (const { id } of tasks) {
    await audit(call, 'redrive', { taskId: id })
    redriven += await countOf(() => source.redrive(id))
  }
  return jsonResponse({ redriven, refused: tasks.length - redriven, hasMore: nextCursor !== undefined })
}

const FAILED = 'failed'

/** 1 for an action that is done, or 0 for one that is refused, such as for a task that has ended before its turn. */
async function countOf(act: () => Promise<unknown>): Promise<number> {
  try {
    await act()
    return 1
  } catch (error) {
    if (describeFailure(error).isInternal) throw error
    return 0
  }
}

export async function cancel(call: Call, taskId: string): Promise<Response> {
  await readBody(call)
  const task = await call.source.task(call.scope, taskId)
  await audit(call, 'cancel', { taskId })
  await call.source.cancel(call.scope, task)
  return jsonResponse({ ok: true })
}

export async function redeliver(call: Call, taskId: string): Promise<Response> {
  const webhookId = requiredText(await readBody(call), 'id')
  await call.source.task(call.scope, taskId)
  await audit(call, 'redeliver', { taskId })
  return jsonResponse({ ok: await call.source.redeliver(taskId, webhookId) })
}

/** Makes a task that shares the past of this one, with other answers to its questions if they are given. */
export async function fork(call: Call, taskId: string): Promise<Response> {
  const body = await readBody(call)
  const options = { generation: readGeneration(body), answers: readAnswers(body) }
  await call.source.task(call.scope, taskId)
  await audit(call, 'fork', { taskId })
  return jsonResponse(await call.source.fork(taskId, options))
}

/** Continues a task that has failed for good in a new one. */
export async function redrive(call: Call, taskId: string): Promise<Response> {
  await readBody(call)
  await call.source.task(call.scope, taskId)
  await audit(call, 'redrive', { taskId })
  return jsonResponse(await call.source.redrive(taskId))
}

/** Removes a task that has ended. */
export async function remove(call: Call, taskId: string): Promise<Response> {
  await readBody(call)
  await call.source.task(call.scope, taskId)
  await audit(call, 'delete', { taskId })
  await call.source.delete(taskId)
  return jsonResponse({ ok: true })
}
