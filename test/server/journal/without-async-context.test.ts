/** Steps that write on platforms without `AsyncLocalStorage`, such as browsers. */
import { setImmediate as turn } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'

test('code belongs to its step up to its first await, and then to the only step under way', async () => {
  const builtin = vi.spyOn(process, 'getBuiltinModule').mockImplementation(() => undefined)
  // Other tests in this process must not get the module that has found no `AsyncLocalStorage`.
  onTestFinished(() => {
    builtin.mockRestore()
    vi.resetModules()
  })
  vi.resetModules()
  const { StepScopes } = await import('../../../src/server/journal/writes/step-scopes.js')
  const scopes = new StepScopes()
  const seen: string[] = []
  const see = (by: string): void => void seen.push(`${by}: ${scopes.current?.label ?? 'none'}`)
  const work = (name: string, turns: number) => async (): Promise<void> => {
    see(`${name} begins`)
    for (let count = 0; count < turns; count += 1) await turn()
    see(`${name} ends`)
  }
  const long = scopes.attempt('long#1', work('long', 3))
  const short = scopes.attempt('short#1', work('short', 1))
  see('other code beside two')
  await short
  await long
  see('other code')
  expect(seen).toEqual([
    'long begins: long#1',
    'short begins: short#1',
    'other code beside two: none',
    'short ends: none',
    'long ends: long#1',
    'other code: none',
  ])
})
