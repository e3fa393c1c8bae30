/** The table of states in the guide, and code that brings a task into each. */
import type { Execute } from 'a2a-tasks/server'
import { read } from '../support/repository.js'

/** Its rows. */
export const STATES = [
  ...read('docs/guides/mcp.md').matchAll(/^\| `([\w-]+)` +\| `(\w+)` +\| (.*?) +\|$/gm),
].map(([, state = '', status = '', result = '']) => [state, status, result] as const)

/** Works until it is stopped. */
export const HOLD: Execute = (run) =>
  new Promise((resolve) => run.signal.addEventListener('abort', () => resolve('Aborted')))

export const IN_STATE: Readonly<Record<string, Execute>> = {
  // Of a task that another party has created, and that nobody works on yet.
  submitted: HOLD,
  working: (run) => {
    run.start()
    return HOLD(run)
  },
  'input-required': async (run) => {
    await run.requireInput('Which city?')
  },
  'auth-required': async (run) => {
    await run.authorize('x', { message: 'Sign in', url: 'https://login.example' })
  },
  completed: () => 'Done',
  failed: (run) => run.fail('No flights'),
  rejected: (run) => run.reject('Not mine'),
  canceled: (run) => run.cancel('Closed'),
}
