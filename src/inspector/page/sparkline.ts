/**
 * A small chart of the changes in the last minute.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'

const HEIGHT = 18
const STEP = 3

export function Sparkline({ counts }: { counts: readonly number[] }): VNode {
  const max = Math.max(4, ...counts)
  const total = counts.reduce((sum, count) => sum + count, 0)
  const bars = counts.map((count, index) => {
    const height = count === 0 ? 1 : Math.max(2, (count / max) * HEIGHT)
    return html`<rect x=${index * STEP} y=${HEIGHT - height} width=${STEP - 1} height=${height} />`
  })
  return html`<span class="sparkline">
    <span aria-hidden="true">${total.toLocaleString('en')} ${total === 1 ? 'change' : 'changes'}/min</span>
    <svg
      role="img"
      width=${counts.length * STEP}
      height=${HEIGHT}
      aria-label=${`${total} changes in the last minute`}
    >
      <title>Changes of tasks in the last minute</title>
      ${bars}
    </svg>
  </span>`
}
