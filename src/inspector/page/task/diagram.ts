/**
 * The state diagram of the lifecycle, with the path of a task.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import type { Lifecycle } from '../../../core/lifecycle.js'
import { layoutOf, NODE_HEIGHT, NODE_WIDTH, pathOf, type Node } from './diagram-layout.js'
import { duration, stateName } from '../format.js'
import type { Snapshot } from './log.js'
import { stateClass } from '../state.js'
import { bandsOf, type Band } from './bands.js'

interface DiagramProps {
  readonly lifecycle: Lifecycle<string>
  readonly task: Snapshot
  readonly end: number
}

export function Diagram({ lifecycle, task, end }: DiagramProps): VNode {
  const { nodes, edges, width, height } = layoutOf(lifecycle)
  const bands = bandsOf(task, end)
  const steps = new Map<string, number>()
  bands.slice(1).forEach(({ state }, index) => {
    const key = `${bands[index]?.state ?? ''} ${state}`
    steps.set(key, (steps.get(key) ?? 0) + 1)
  })
  const path = bands.map(({ state }) => stateName(state)).join(', then ')
  const drawn = edges.map((edge) => ({ edge, count: steps.get(`${edge.from.state} ${edge.to.state}`) ?? 0 }))
  return html`<section class="block" aria-label="States">
    <h2>States</h2>
    <svg
      class="diagram"
      viewBox=${`0 0 ${width} ${height}`}
      role="img"
      aria-label=${`The path of the task: ${path}`}
    >
      <defs>
        ${['', 'lit'].map(
          (name) =>
            html`<marker
              id=${`arrow${name}`}
              viewBox="0 0 6 6"
              refX="5.5"
              refY="3"
              markerWidth="6"
              markerHeight="6"
              orient="auto"
            >
              <path class=${`arrow ${name}`} d="M0 0 L6 3 L0 6 z" />
            </marker>`,
        )}
      </defs>
      ${drawn
        .toSorted((a, b) => a.count - b.count)
        .map(
          ({ edge, count }) =>
            html`<path
              class=${count > 0 ? 'edge lit' : 'edge'}
              d=${pathOf(edge)}
              marker-end=${count > 0 ? 'url(#arrowlit)' : 'url(#arrow)'}
            />`,
        )}
      ${nodes.map((node) => html`<${NodeView} key=${node.state} node=${node} bands=${bands} task=${task} lifecycle=${lifecycle} />`)}
    </svg>
  </section>`
}

interface NodeProps {
  readonly node: Node
  readonly bands: readonly Band[]
  readonly task: Snapshot
  readonly lifecycle: Lifecycle<string>
}

function NodeView({ node, bands, task, lifecycle }: NodeProps): VNode {
  const { state, x, y } = node
  const visits = bands.filter((band) => band.state === state)
  const time = visits.reduce((sum, { from, to }) => sum + to - from, 0)
  const isEnd = lifecycle.terminal.includes(state)
  const hasTime = visits.length > 0 && !isEnd
  const kind = task.state === state ? 'here' : visits.length > 0 ? 'lit' : ''
  return html`<g class=${`node ${kind} ${stateClass(state)}`} transform=${`translate(${x} ${y})`}>
    <rect width=${NODE_WIDTH} height=${NODE_HEIGHT} rx=${isEnd ? NODE_HEIGHT / 2 : 6} />
    <text x=${NODE_WIDTH / 2} y=${hasTime ? 13 : 19}>${stateName(state)}</text>
    ${
      hasTime &&
      html`<text class="node-time" x=${NODE_WIDTH / 2} y="25">
        ${visits.length > 1 ? `${visits.length} × · ` : ''}${duration(time)}
      </text>`
    }
  </g>`
}
