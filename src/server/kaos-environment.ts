/**
 * The task manager that the environment asks for.
 *
 * @module
 */
import { quote } from '../core/json.js'
import { LocalTaskManager, type LocalTaskManagerOptions, type ProcessFn } from './local-task-manager.js'
import { NullTaskManager } from './null-task-manager.js'
import { environment } from './platform.js'
import type { SessionTaskManager } from './session-task-manager.js'

export interface TaskManagerFromEnvironmentOptions extends LocalTaskManagerOptions {
  /** Where `TASK_STORE_TYPE` is looked up. Default is the environment of the process, where the runtime has one. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
}

const VARIABLE = 'TASK_STORE_TYPE'

/**
 * As `TASK_STORE_TYPE` says, in whatever case: `local`, also where it is not set or empty, for a `LocalTaskManager`, `null`
 * or `none` for a `NullTaskManager`.
 *
 * @throws {RangeError} naming the variable, when it says something else.
 */
export function taskManagerFromEnvironment(
  processFn: ProcessFn,
  { env, ...options }: TaskManagerFromEnvironmentOptions = {},
): SessionTaskManager {
  const type = (env === undefined ? environment(VARIABLE) : env[VARIABLE]) ?? ''
  switch (type.trim().toLowerCase()) {
    case '':
    case 'local':
      return new LocalTaskManager(processFn, options)
    case 'null':
    case 'none':
      return new NullTaskManager()
    default:
      throw new RangeError(`"${VARIABLE}" must be local, null or none, got ${quote(type)}`)
  }
}
