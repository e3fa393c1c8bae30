/**
 * The request context that an executor receives.
 *
 * @module
 */
import { isInterrupted } from '../core/lifecycle.js'
import type { TaskSnapshot } from '../core/task.js'
import type { Principal } from '../server/caller.js'
import type { Run } from '../server/run/run.js'
import type { SdkVersion } from './agent-executor.js'
import { SDK_OBJECTS } from './objects.js'

/** The task that the message was sent to, as it was before this turn; `undefined` for a new task. */
export function taskBefore(run: Run): TaskSnapshot | undefined {
  if (run.message.taskId === undefined) return undefined
  const { task, message } = run
  const { history, messages } = task
  const before = history.at(-2)
  const at = messages.findIndex(({ messageId }) => messageId === message.messageId)
  const question = messages[at - 1]
  // The answer to a question has moved the task to `working` already.
  const isAnswer = before !== undefined && isInterrupted(before.state) && question?.role === 'agent'
  if (task.state !== 'working' || !isAnswer) return task
  return { ...task, state: before.state, message: question, updatedAt: before.timestamp }
}

/** A `RequestContext` of the SDK. Tasks are converted when they are read. */
export function requestContext(run: Run, version: SdkVersion, before: TaskSnapshot | undefined): object {
  const { toMessage, toTask } = SDK_OBJECTS[version]
  const { taskId, contextId, message, referenceTasks, tenant = '', metadata } = run
  const userMessage = toMessage({ ...message, taskId, contextId })
  const task = lazy(() => (before === undefined ? undefined : toTask(before)))
  const references = lazy(() => (referenceTasks.length === 0 ? undefined : referenceTasks.map(toTask)))
  return {
    userMessage,
    request: {
      tenant,
      message: userMessage,
      configuration: {
        acceptedOutputModes: [...run.acceptedOutputModes],
        taskPushNotificationConfig: undefined,
        returnImmediately: false,
      },
      metadata: structuredClone(metadata),
    },
    taskId,
    contextId,
    context: callContext(run, version),
    get task() {
      return task()
    },
    get referenceTasks() {
      return references()
    },
  }
}

/** A `ServerCallContext` of the SDK. */
function callContext({ principal, tenant, extensions }: Run, version: SdkVersion): object {
  let requested = [...extensions]
  let activated: string[] | undefined
  return {
    user: toUser(principal),
    tenant,
    requestedVersion: version,
    state: new Map<string, unknown>(),
    get requestedExtensions() {
      return requested
    },
    get activatedExtensions() {
      return activated
    },
    addActivatedExtension(uri: string) {
      activated = [...new Set([...(activated ?? []), uri])]
    },
    setRequestedExtensions(uris: readonly string[] = []) {
      requested = [...uris]
    },
  }
}

/** A `User` of the SDK, with the properties of the principal. */
function toUser(principal: Principal | undefined): object {
  if (principal === undefined) return { isAuthenticated: false, userName: '' }
  return { ...principal, isAuthenticated: true, userName: principal.id }
}

function lazy<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => (made ??= { value: make() }).value
}
