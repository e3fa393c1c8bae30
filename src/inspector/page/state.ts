/**
 * The state of a task as a coloured dot and a label.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import { stateName } from './format.js'

const KNOWN = new Set([
  ...['submitted', 'working', 'input-required', 'auth-required'],
  ...['completed', 'failed', 'canceled', 'rejected'],
])

/** The class of a state's colour. A state of another lifecycle looks like work. */
export function stateClass(state: string): string {
  return KNOWN.has(state) ? `s-${state}` : 's-working'
}

export function StateDot({ state }: { state: string }): VNode {
  return html`<span class=${`dot ${stateClass(state)}`} aria-hidden="true"></span>`
}

export function StateBadge({ state }: { state: string }): VNode {
  return html`<span class=${`state ${stateClass(state)}`}
    ><${StateDot} state=${state} />${stateName(state)}</span
  >`
}
