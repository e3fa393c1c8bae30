/**
 * The spending of tasks, by the conventions of OpenTelemetry for generative AI where they have a name for it.
 *
 * @module
 */
import type { JournalEntry } from '../core/events.js'
import type { Spending } from '../core/spending.js'
import type { OtelAttributes } from './api.js'
import type { Telemetry } from './telemetry.js'

/** The values of `gen_ai.token.type`, by unit. */
const TOKENS: ReadonlyMap<string, string> = new Map([
  ['inputTokens', 'input'],
  ['outputTokens', 'output'],
])

/** The attributes of a task's span. */
export function attributesOf({ total, models }: Spending, prefix: string): OtelAttributes {
  const amounts = Object.entries(total).map(([unit, amount]) => {
    const type = TOKENS.get(unit)
    return [
      type === undefined ? `${prefix}.task.spent.${unit}` : `gen_ai.usage.${type}_tokens`,
      amount,
    ] as const
  })
  const [model, ...others] = Object.keys(models)
  const only = others.length === 0 ? model : undefined
  return { ...Object.fromEntries(amounts), ...(only !== undefined && { 'gen_ai.request.model': only }) }
}

/** Measures what was spent at once. */
export function measure(
  { units, model }: Extract<JournalEntry, { readonly kind: 'spend' }>,
  telemetry: Telemetry,
): void {
  const { prefix } = telemetry
  const named = model === undefined ? {} : { 'gen_ai.request.model': model }
  for (const [unit, amount] of Object.entries(units)) {
    const type = TOKENS.get(unit)
    telemetry.count(
      `${prefix}.task.spent`,
      'What tasks have spent',
      { ...named, [`${prefix}.unit`]: unit },
      amount,
    )
    if (type === undefined) continue
    telemetry.record('gen_ai.client.token.usage', 'Tokens of a call to a model', '{token}', amount, {
      ...{ 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.token.type': type },
      ...named,
    })
  }
}
