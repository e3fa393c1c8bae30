/**
 * The timeline of a task: bands of states with their durations, and the scrubber below them.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { bandsOf, placesOf } from './bands.js'
import { clockTime, duration, stateName } from '../format.js'
import type { Details } from '../api.js'
import { Lanes } from './lanes.js'
import type { Entry, TaskLog } from './log.js'
import { stateClass } from '../state.js'

interface TimelineProps {
  readonly log: TaskLog
  readonly index: number
  readonly isLive: boolean
  readonly isEnded: boolean
  readonly now: number
  readonly seek: (index: number | undefined) => void
  readonly details: Details | undefined
  readonly terminal: readonly string[]
}

export function Timeline(props: TimelineProps): VNode | null {
  const { log, index, isLive, isEnded, now, seek, details, terminal } = props
  const { latest, entries } = log
  const entry = entries[index]
  if (latest === undefined || entry === undefined) return null
  const end = isEnded ? Date.parse(latest.updatedAt) : Math.max(now, Date.parse(latest.updatedAt))
  const bands = bandsOf(latest, end)
  const places = placesOf(bands, entries)
  const place = isLive && !isEnded ? 1 : (places[index] ?? 1)
  return html`<section class="timeline" aria-label="Timeline">
    <ol class="bands">
      ${bands.map(
        ({ state, from, to, share }) =>
          html`<li
            class=${`band ${stateClass(state)}`}
            style=${{ flexGrow: share }}
            title=${`${stateName(state)}, ${duration(to - from)}`}
          >
            <span class="band-name">${stateName(state)}</span>
            <span class="band-time">${duration(to - from)}</span>
          </li>`,
      )}
    </ol>
    <div class="marks" aria-hidden="true">
      ${marksOf(places).map((left) => html`<span style=${{ left: `${left}%` }}></span>`)}
      <span class="cursor" style=${{ left: `${place * 100}%` }}></span>
    </div>
    <${Lanes}
      bands=${bands}
      entries=${entries}
      offspring=${details?.children}
      terminal=${terminal}
      end=${end}
    />
    <${Scrubber} log=${log} index=${index} isLive=${isLive} isEnded=${isEnded} seek=${seek} />
  </section>`
}

/** Marks that are this near to each other, in percent, are one. */
const MARK_GAP = 0.25

function marksOf(places: readonly number[]): readonly number[] {
  return [...new Set(places.map((place) => Math.round((place * 100) / MARK_GAP) * MARK_GAP))]
}

type ScrubberProps = Omit<TimelineProps, 'now' | 'details' | 'terminal'>

function Scrubber({ log, index, isLive, isEnded, seek }: ScrubberProps): VNode {
  const [speed, setSpeed] = useState(0)
  const { entries } = log
  const entry = entries[index]
  usePlayback(entries, index, speed, (next) => {
    if (next === undefined) setSpeed(0)
    else seek(next)
  })
  const play = (factor: number): void => {
    if (speed !== factor && index >= entries.length - 1) seek(0)
    setSpeed(speed === factor ? 0 : factor)
  }
  return html`<div class="scrubber">
    <div class="buttons" role="group" aria-label="Replay">
      ${[1, 10].map(
        (factor) =>
          html`<button
            type="button"
            class="plain"
            aria-pressed=${speed === factor}
            aria-label=${`Replay at ${factor} times the speed`}
            disabled=${entries.length < 2}
            onClick=${() => play(factor)}
          >
            ${speed === factor ? '❚❚' : '▶'} ${factor}×
          </button>`,
      )}
    </div>
    <input
      type="range"
      aria-label="Event"
      aria-valuetext=${entry && `Event ${entry.generation}, ${describeEntry(entry)}`}
      min="0"
      max=${Math.max(0, entries.length - 1)}
      value=${index}
      onInput=${(event: Event) => {
        setSpeed(0)
        const value = Number((event.currentTarget as HTMLInputElement).value)
        seek(value >= entries.length - 1 ? undefined : value)
      }}
    />
    <output class="position">
      ${entry && html`<b>#${entry.generation}</b> ${clockTime(entry.timestamp)}`}
    </output>
    ${
      isLive
        ? html`<span class="now-mark">${isEnded ? 'Final' : 'Now'}</span>`
        : html`<button type="button" class="plain accent" onClick=${() => seek(undefined)}>
            ${isEnded ? 'To the end' : 'Back to now'}
          </button>`
    }
  </div>`
}

/** Gaps in the log are played at most so long, in ms. */
const MAX_GAP = 2_000
const MIN_GAP = 40

function usePlayback(
  entries: readonly Entry[],
  index: number,
  speed: number,
  step: (next: number | undefined) => void,
): void {
  useEffect(() => {
    if (speed === 0) return
    const [here, next] = [entries[index], entries[index + 1]]
    if (here === undefined || next === undefined) {
      step(undefined)
      return
    }
    const gap = Date.parse(next.timestamp) - Date.parse(here.timestamp)
    const timer = setTimeout(() => step(index + 1), Math.max(MIN_GAP, Math.min(gap, MAX_GAP) / speed))
    return () => clearTimeout(timer)
  }, [index, speed, entries.length])
}

/** An entry in a few words. */
export function describeEntry(entry: Entry): string {
  switch (entry.type) {
    case 'created':
      return 'created'
    case 'status':
      return entry.from === entry.to ? 'progress' : `${entry.from} → ${entry.to}`
    case 'output':
      return 'output'
    case 'artifact':
      return entry.append ? 'artifact chunk' : 'artifact'
    case 'message':
      return `message of the ${entry.message.role}`
    case 'journal':
      return 'name' in entry.entry ? `${entry.entry.kind} ${entry.entry.name}` : entry.entry.kind
    case 'snapshot':
    case 'resync':
      return 'the whole task'
  }
}
