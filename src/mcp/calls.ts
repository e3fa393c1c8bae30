/**
 * Calls of tools: a message to the agent, followed until its task ends, waits for the user, or has taken long enough to be a task
 * of the client.
 *
 * @module
 */
import type { A2AError } from '../core/errors.js'
import type { JsonObject } from '../core/json-types.js'
import { observed, onAbort } from '../runtime/abort.js'
import { MCP_KEY } from '../runtime/protocols.js'
import { recordOf, type Unread } from '../runtime/unread.js'
import type { MessageContent } from '../client/message.js'
import type { RunOptions, RunResult, RunUpdate } from '../client/run/run-types.js'
import type { RemoteTask } from '../wire/client/dialect.js'
import { openQuestionsOf } from '../wire/question/questions.js'
import { textOf } from '../wire/text.js'
import { lastMessage, missingTasks, toRefusal, type Answered, type Scene } from './answers.js'
import type { Channel } from './channel.js'
import { progress } from './progress.js'
import { eventIdOf, LAST_EVENT, type Told } from './positions.js'
import type { Call } from './protocol.js'
import { answerId, questionId, questionIn, type Question } from './question-ids.js'
import { answerTo, inputRequestsOf, isAsking } from './questions.js'
import { Refusal } from './refusal.js'
import { isId, type RequestId } from './request-id.js'
import {
  cancel,
  deferred,
  deliver,
  isLate,
  knownTask,
  left,
  seen,
  sendAndFollow,
  untilChanged,
} from './remote-tasks.js'
import { errorResult, questionResult, resultOfMessage, resultOfTask } from './results.js'
import { sessionTaskOf, taskOf } from './tasks.js'
import { saidBy, toolOf, type Said, type Tool } from './tools.js'

/** Begins to work, and reports what happens. Resolves when the task ends or waits. */
export type Work = (options: RunOptions) => Promise<RunResult>

/** @throws {Refusal} */
export async function callTool(scene: Scene, call: Call): Promise<Answered> {
  const { name, arguments: args = {}, requestState, inputResponses = {} } = call.params
  if (typeof name !== 'string') throw new Refusal('params', 'name must be the name of a tool')
  const tool = scene.tools.get(name)
  if (tool === undefined) throw new Refusal('params', `Unknown tool: ${name.slice(0, 100)}`)
  if (tool.given.requiresTask === true) requireTask(call, name)
  const given = recordOf(args)
  if (given === undefined) throw new Refusal('params', 'arguments must be an object')
  if (call.isStateless && requestState !== undefined) {
    const responses = recordOf(inputResponses)
    if (typeof requestState !== 'string' || responses === undefined)
      throw new Refusal('params', 'requestState must be a text, and inputResponses an object')
    return await answerCall(scene, call, tool, { taskId: requestState, responses })
  }
  const said = saidBy(tool, given)
  if ('problem' in said) return problem(call, said.problem)
  const question = said.taskId === undefined ? undefined : questionIn(said.taskId)
  if (question !== undefined) return await answerInWords(scene, call, tool, { ...said, ...question })
  // Tasks of A2A do not say when they began.
  const at = new Date(scene.settings.clock.now()).toISOString()
  const message = { ...said, metadata: { skill: tool.skill, [MCP_KEY]: { at } } }
  return await sent(scene, call, tool, message)
}

/** @throws {Refusal} for a client that would wait for the result of a call that has to be a task. */
function requireTask({ isStateless, isTask, capabilities }: Call, name: string): void {
  if (isStateless && !capabilities.tasks) throw missingTasks()
  if (!isStateless && !isTask) throw new Refusal('method', `The tool ${name} requires a call with "task"`)
}

/** A problem that a model can do something about. There is no task of which it could be the result. */
function problem({ isTask }: Call, text: string): Answered {
  if (isTask) throw new Refusal('params', text)
  return { result: errorResult(text) }
}

/** Sends the message, and answers with its outcome, or with the task where the call is to be one. */
async function sent(scene: Scene, call: Call, tool: Tool, message: MessageContent): Promise<Answered> {
  const { agent, isLocal, settings } = scene
  if (!call.isTask) {
    // Progress that is made before the answer is heard from a stream only.
    const isQuick = isLocal && call.progressToken === undefined
    return await followed(scene, call, tool, (options) =>
      isQuick ? sendAndFollow(agent, message, options) : agent.run(message, options),
    )
  }
  const result = await agent.send(message, { returnImmediately: true })
  // An agent that replies without a task has nothing to ask for later.
  if (result.type === 'message') return { result: resultOfMessage(result.message, tool, settings) }
  return { result: { task: sessionTaskOf(result.task, settings) } }
}

/** The result of a task that has begun, for a client with a session: it waits until the task ends, and asks the user meanwhile. */
export async function resultOfCall(scene: Scene, call: Call, taskId: string): Promise<Answered> {
  const task = await knownTask(scene, taskId)
  const handle = { taskId, messageId: task.messages[0]?.messageId ?? taskId }
  return await followed(scene, call, toolOf(scene.tools, task), (options) =>
    scene.agent.resume(handle, options),
  )
}

/** The answer of a model to the question that an earlier result has shown. The same answer again has the same outcome. */
async function answerInWords(
  scene: Scene,
  call: Call,
  tool: Tool,
  { key, taskId, parts }: Said & Question,
): Promise<Answered> {
  const task = await knownTask(scene, taskId).catch((error: unknown) => {
    if (error instanceof Refusal) return undefined
    throw error
  })
  if (task === undefined) return problem(call, 'Task not found')
  const { message, messages } = task
  const answer = { taskId, messageId: answerId(key), parts, metadata: { skill: tool.skill } }
  const known = messages.find(({ messageId }) => messageId === answer.messageId)
  if (known !== undefined && textOf(known) === textOf(answer)) {
    if (call.isTask) return { result: { task: sessionTaskOf(task, scene.settings) } }
    const handle = { taskId, messageId: answer.messageId }
    return await followed(scene, call, tool, (options) => scene.agent.resume(handle, options))
  }
  if (known !== undefined || message?.messageId !== key || !isAsking(task))
    return problem(call, 'The question has been answered, or the agent no longer asks it')
  return await sent(scene, call, tool, answer)
}

/** A call that is repeated with answers to the questions of its task. */
async function answerCall(
  scene: Scene,
  call: Call,
  tool: Tool,
  { taskId, responses }: { readonly taskId: string; readonly responses: Unread },
): Promise<Answered> {
  const { agent, tools } = scene
  const task = await knownTask(scene, taskId)
  if (toolOf(tools, task) !== tool) throw new Refusal('params', 'requestState is of no call of this tool')
  const answer = answerTo(task, responses)
  const { messageId, parts, extensions, isSent } = answer
  if (answer.isGivenUp) {
    await deliver(agent, task, answer)
    return { result: resultOfTask(await knownTask(scene, taskId), tool, scene.settings) }
  }
  if (parts.length === 0 && isAsking(task) && !isSent) return { result: waiting(scene, call, task) }
  const handle = { taskId, messageId: task.messages[0]?.messageId ?? taskId }
  const before = seen(task)
  return await followed(scene, call, tool, async (options) => {
    if (parts.length === 0) await untilChanged(scene, before, options.signal)
    else {
      const result = await agent.run({ taskId, messageId, parts, extensions }, options)
      if (result.type !== 'error' || !(await isLate(agent, taskId, answer))) return result
    }
    return await agent.resume(handle, options)
  })
}

/**
 * Answers with the outcome of the work, where it comes in time. Otherwise the call becomes a task, or a stream: at once where the
 * client is to hear of progress or of questions, or asks for the rest of one.
 *
 * @throws {Refusal}
 */
async function followed(scene: Scene, call: Call, tool: Tool | undefined, work: Work): Promise<Answered> {
  const { settings, signal } = scene
  const { isStateless, isResumable, capabilities, position } = call
  const scope = new AbortController()
  // Only without sessions is leaving the request the same as canceling it.
  const leave = (): void => scope.abort(isStateless ? undefined : left())
  const channel = scene.openChannel(leave)
  const ignore = onAbort(signal, leave)
  const late = deferred()
  const begun = deferred()
  let task: RemoteTask | undefined
  const told: Told = { rounds: 0, ...position?.told }
  const eventId = (): string | undefined => task && eventIdAt(call, task.id, told)
  const by = (send: Channel['write']) => (message: JsonObject) => {
    if (capabilities.tasks) return
    send(message, eventId())
    late.resolve()
  }
  const report = progress(call, told, settings.clock, by(channel.tell))
  if (position !== undefined) late.resolve()
  const onUpdate = (update: RunUpdate): void => {
    task = update.task
    begun.resolve()
    report(update)
  }
  const outcome = observed(
    finished(scene, call, tool, {
      ...{ work, write: by(channel.write), told },
      options: { signal: scope.signal, onUpdate, keepUpdates: false },
    }),
  )
  remember(
    scene,
    call,
    outcome,
    begun.promise.then(() => task?.id),
  )
  const disarm = settings.clock.schedule(late.resolve, settings.waitMs)
  const first = await Promise.race([outcome, late.promise]).finally(disarm)
  if (first === undefined && capabilities.tasks) await Promise.race([outcome, begun.promise])
  if (first === undefined && task !== undefined && capabilities.tasks) {
    ignore()
    const created = { resultType: 'task', ...taskOf(task, settings) }
    scope.abort(left())
    return { result: created }
  }
  if (first !== undefined || capabilities.tasks) {
    ignore()
    return { result: first ?? (await outcome) }
  }
  // A stream that breaks before its first message can be resumed too.
  void begun.promise.then(() => channel.mark(eventId()))
  void lastMessage(scene, call, outcome).then((message) => {
    channel.write(message, isResumable ? LAST_EVENT : undefined)
    ignore()
    channel.end()
  })
  return { frames: channel.frames }
}

/** The id of an event after which the client has been told this. */
function eventIdAt(call: Call, taskId: string, told: Told): string | undefined {
  const { id, progressToken, relatedTask } = call
  if (!call.isResumable) return undefined
  return eventIdOf({ id, taskId, progressToken, isRelated: relatedTask !== undefined, told })
}

/** Lets a client with a session cancel the call by its id. */
function remember(
  { running }: Scene,
  { session, id, relatedTask }: Call,
  outcome: Promise<unknown>,
  taskId: Promise<string | undefined>,
): void {
  // The task of which a request waits for the result has its own method to cancel it.
  if (session === undefined || relatedTask !== undefined) return
  const key = keyOf(session, id)
  const found = Promise.race([taskId, outcome.then(none, none)])
  running.set(key, found)
  const forget = (): void => {
    // A client that resumes the stream has the call again.
    if (running.get(key) === found) running.delete(key)
  }
  void outcome.then(forget, forget)
}

function none(): undefined {
  return undefined
}

/** Cancels a call by the credentials of the request that asks for it. Unknown calls are left out, as those of other processes. */
export async function cancelCall(
  { agent, running }: Scene,
  session: string | undefined,
  requestId: unknown,
): Promise<void> {
  if (session === undefined || !isId(requestId)) return
  const taskId = await running.get(keyOf(session, requestId))
  if (taskId !== undefined) await cancel(agent, taskId)
}

function keyOf(session: string, id: RequestId): string {
  return JSON.stringify([session, id])
}

interface Following {
  readonly work: Work
  readonly write: (message: JsonObject) => void
  readonly told: Told
  readonly options: RunOptions & { readonly signal: AbortSignal }
}

/** Works, and asks the user of a client with a session, until there is a result. */
async function finished(
  scene: Scene,
  call: Call,
  tool: Tool | undefined,
  { work, write, told, options }: Following,
): Promise<JsonObject> {
  let result = await work(options)
  while (result.type === 'input-required' || result.type === 'auth-required') {
    const { task, handle } = result
    const requests = inputRequestsOf(task, call.capabilities, (key) => questionId(task.id, key))
    if (call.isStateless || Object.keys(requests).length === 0) break
    const messageId = task.message?.messageId ?? ''
    if (told.asked !== messageId) {
      const messages = Object.entries(requests).map(([key, { method, params }]) => {
        const id = questionId(task.id, key, told.rounds)
        return { jsonrpc: '2.0', id, method, params: withRelated(call, params) }
      })
      const last = messages.splice(-1)
      for (const message of messages) write(message)
      // Only with the last one the client has them all.
      Object.assign(told, { asked: messageId, rounds: told.rounds + 1 })
      for (const message of last) write(message)
    }
    await untilChanged(scene, task, options.signal)
    result = await scene.agent.resume(handle, options)
  }
  return withRelated(call, resultOf(scene, call, tool, result))
}

/** Says which task a message is about that waits for the result of one. */
function withRelated({ relatedTask }: Call, message: JsonObject): JsonObject {
  if (relatedTask === undefined) return message
  const related = { 'io.modelcontextprotocol/related-task': { taskId: relatedTask } }
  return { ...message, _meta: { ...recordOf(message['_meta']), ...related } }
}

function resultOf(scene: Scene, call: Call, tool: Tool | undefined, result: RunResult): JsonObject {
  switch (result.type) {
    case 'message':
      return resultOfMessage(result.message, tool, scene.settings)
    case 'input-required':
    case 'auth-required':
      return waiting(scene, call, result.task)
    case 'completed':
    case 'failed':
    case 'rejected':
    case 'canceled':
      return resultOfTask(result.task, tool, scene.settings)
    case 'aborted':
      return errorResult('The call has been canceled')
    default:
      return failure(scene, result.error)
  }
}

/** A failure on the way to the agent. A model may correct what it has sent. */
function failure(scene: Scene, error: A2AError): JsonObject {
  const refusal = toRefusal(scene, error)
  if (refusal.status !== 200 || refusal.code === -32603) throw refusal
  return errorResult(refusal.message)
}

function waiting({ settings }: Scene, { capabilities, isStateless }: Call, task: RemoteTask): JsonObject {
  if (capabilities.tasks) return { resultType: 'task', ...taskOf(task, settings) }
  const requests = inputRequestsOf(task, capabilities)
  if (isStateless && Object.keys(requests).length > 0)
    // Requests for the user are JSON.
    return {
      resultType: 'input_required',
      inputRequests: requests as unknown as JsonObject,
      requestState: task.id,
    }
  return questionResult(
    task,
    openQuestionsOf(task).flatMap(({ url }) => url ?? []),
  )
}
