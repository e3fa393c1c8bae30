/**
 * The task manager that the environment asks for.
 *
 * @module
 */
import { readOptions } from '../../runtime/options.js'
import { read } from '../../core/validate.js'
import { quote } from '../../runtime/describe.js'
import { environment } from '../../runtime/environment.js'
import {
  LocalTaskManager,
  OPTION_KEYS,
  type LocalTaskManagerOptions,
  type ProcessFn,
} from './local-task-manager.js'
import { NullTaskManager } from './null-task-manager.js'
import type { SessionTaskManager } from './session-task-manager.js'

export interface TaskManagerFromEnvironmentOptions extends LocalTaskManagerOptions {
  /** Where `TASK_STORE_TYPE` is looked up. Default is the environment of the process, where the runtime has one. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
}

const VARIABLE = 'TASK_STORE_TYPE'
const KEYS = [...OPTION_KEYS, 'env']

/**
 * As `TASK_STORE_TYPE` says, in whatever case: `local`, also where it is not set or empty, for a `LocalTaskManager`, `null`
 * or `none` for a `NullTaskManager`.
 *
 * @throws {RangeError} naming the variable, when it says something else.
 * @throws {TypeError | RangeError} naming the option that makes no sense, whatever the variable says.
 */
export function taskManagerFromEnvironment(
  processFn: ProcessFn,
  options: TaskManagerFromEnvironmentOptions = {},
): SessionTaskManager {
  const { env, ...given } = readOptions(options, KEYS, 'taskManagerFromEnvironment')
  // What is wrong with them is found where they are written, and not only where they are used.
  const local = new LocalTaskManager(processFn, given)
  const type = (env === undefined ? environment(VARIABLE) : env[VARIABLE]) ?? ''
  switch (type.trim().toLowerCase()) {
    case '':
    case 'local':
      return local
    case 'null':
    case 'none':
      return new NullTaskManager()
    default:
      throw new RangeError(`"${VARIABLE}" must be local, null or none, got ${quote(type)}`)
  }
}
