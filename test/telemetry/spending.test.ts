/** Telemetry of what tasks spend. */
import { A2AClient } from 'a2a-tasks/client'
import { createRequestHandler, type Principal } from 'a2a-tasks/server'
import { instrumentTasks } from 'a2a-tasks/telemetry'
import { expect, onTestFinished, test } from 'vitest'
import { MANAGERS, type Manager } from './support/managers.js'
import { sdk } from './support/sdk.js'

test.each(MANAGERS)('has the names of the conventions for generative AI, over $name', async ({ make }) => {
  const { span, metrics } = sdk()
  const tasks = make()
  instrumentTasks(tasks)
  const handler = createRequestHandler<Principal, Manager>({
    card: { name: 'Agent', url: 'http://agent.test' },
    ...{ tasks, anonymous: 'shared' },
    execute: (run) =>
      run.step('draft', () => {
        run.spend({ model: 'small', inputTokens: 10, outputTokens: 4, cost: 0.25 })
        run.spend({ model: 'small', inputTokens: 5 })
      }),
  })
  onTestFinished(() => handler.close({ graceMs: 0 }))
  const client = new A2AClient({
    card: handler.card,
    fetch: (url, init) => handler.fetch(new Request(url, init)),
  })
  expect(await client.run('go')).toMatchObject({ ok: true })
  await expect
    .poll(() => span('a2a.task.execute').attributes)
    .toMatchObject({
      'gen_ai.usage.input_tokens': 15,
      'gen_ai.usage.output_tokens': 4,
      'a2a.task.spent.cost': 0.25,
      'gen_ai.request.model': 'small',
    })
  const found = await metrics()
  const { 'gen_ai.client.token.usage': tokens, 'a2a.task.spent': spent } = found
  const common = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.request.model': 'small' }
  expect(tokens?.points.map(({ attributes }) => attributes)).toEqual([
    { ...common, 'gen_ai.token.type': 'input' },
    { ...common, 'gen_ai.token.type': 'output' },
  ])
  expect(spent?.points).toMatchObject([
    { attributes: { 'a2a.unit': 'inputTokens' }, value: 15 },
    { attributes: { 'a2a.unit': 'outputTokens' }, value: 4 },
    { attributes: { 'a2a.unit': 'cost' }, value: 0.25 },
  ])
})
