/**
 * Choice of KAOS' task manager by the environment variable `TASK_STORE_TYPE`.
 *
 * @module
 */
import { readOptions } from '../../runtime/options.js'
import { quote } from '../../runtime/describe.js'
import { environment } from '../../runtime/environment.js'
import { LocalTaskManager } from './local-task-manager.js'
import {
  OPTION_KEYS,
  toLocalSettings,
  type LocalTaskManagerOptions,
  type ProcessFn,
} from './local-options.js'
import { NullTaskManager } from './null-task-manager.js'
import type { SessionTaskManager } from './session-task-manager.js'

/** Options of {@link taskManagerFromEnvironment}. Those of `LocalTaskManager` have no effect on a `NullTaskManager`. */
export interface TaskManagerFromEnvironmentOptions extends LocalTaskManagerOptions {
  /** Variables to read `TASK_STORE_TYPE` from. Default is the environment of the process, where the runtime has one. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
}

const VARIABLE = 'TASK_STORE_TYPE'
const KEYS = [...OPTION_KEYS, 'env']

/**
 * Creates the task manager that `TASK_STORE_TYPE` names: `local` (the default, also when the variable is empty) for a
 * `LocalTaskManager`, `null` or `none` for a `NullTaskManager`. The case does not matter.
 *
 * @throws {RangeError} naming the variable, when it has another value.
 * @throws {TypeError | RangeError} naming the option that is wrong, whatever the variable's value.
 */
export function taskManagerFromEnvironment(
  processFn: ProcessFn,
  options: TaskManagerFromEnvironmentOptions = {},
): SessionTaskManager {
  const { env, ...given } = readOptions(options, KEYS, 'taskManagerFromEnvironment')
  // In every case, so that wrong options fail in every environment.
  toLocalSettings(processFn, given)
  const type = (env === undefined ? environment(VARIABLE) : env[VARIABLE]) ?? ''
  switch (type.trim().toLowerCase()) {
    case '':
    case 'local':
      return new LocalTaskManager(processFn, given)
    case 'null':
    case 'none':
      return new NullTaskManager()
    default:
      throw new RangeError(`"${VARIABLE}" must be local, null or none, got ${quote(type)}`)
  }
}
