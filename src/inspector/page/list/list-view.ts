/**
 * The list of tasks, with its filters.
 *
 * @module
 */
import { html } from 'htm/preact'
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Summary } from '../../summary.js'
import { Confirmed, type ConfirmedProps } from '../confirm.js'
import { api, type Session } from '../api.js'
import { ago, dateTime, ownerName, shortId, stateName } from '../format.js'
import { NO_FILTER, selectionOf, useList, type Filter, type ListState } from './list-state.js'
import type { Live } from '../live.js'
import { useNow } from '../now.js'
import { Workers } from './workers.js'
import { Line } from '../markdown/text.js'
import { taskHref } from '../route.js'
import { stateClass, StateDot } from '../state.js'

interface ListProps {
  readonly session: Session
  readonly selected: string | undefined
  readonly live: Live
}

/** As the style has it. */
const ROW_HEIGHT = 56
const SPARE_ROWS = 8
/** Rows are exchanged after so many pixels. Those beside the view are more than these. */
const SCROLL_STEP = 4 * ROW_HEIGHT
const LOAD_AHEAD = 30
const TYPING_MS = 200

/** Other views set the filter of the list. */
let showOnly: (filter: Partial<Filter>) => void = () => undefined
export function filterBy(filter: Partial<Filter>): void {
  showOnly(filter)
}

export function ListView({ session, selected, live }: ListProps): VNode {
  const [filter, setFilter] = useState<Filter>(NO_FILTER)
  const list = useList(filter, live)
  const change = (part: Partial<Filter>): void => setFilter((before) => ({ ...before, ...part }))
  showOnly = (part) => setFilter({ ...NO_FILTER, ...part })
  return html`<div class="list" role=${selected === undefined ? 'main' : 'complementary'} aria-label="Tasks">
    ${selected === undefined && html`<h1 class="unseen">Tasks</h1>`}
    <${Filters} session=${session} filter=${filter} change=${change} counts=${list.counts} />
    <${Workers} />
    <${Rows} list=${list} selected=${selected} isFiltered=${filter !== NO_FILTER} />
  </div>`
}

interface FilterProps {
  readonly session: Session
  readonly filter: Filter
  readonly change: (part: Partial<Filter>) => void
  readonly counts: ListState['counts']
}

const AGES = [
  ['Any time', 0],
  ['Last 15 minutes', 900_000],
  ['Last hour', 3_600_000],
  ['Last day', 86_400_000],
  ['Last week', 604_800_000],
] as const

function Filters({ session, filter, change, counts }: FilterProps): VNode {
  const { states } = session.lifecycle
  const total = counts === null ? undefined : Object.values(counts).reduce((sum, count) => sum + count, 0)
  return html`<search class="filters">
    <${Search} value=${filter.text} onText=${(text: string) => change({ text })} />
    <div class="chips" role="group" aria-label="State">
      <${Chip} label="All" count=${total} isOn=${filter.state === ''} pick=${() => change({ state: '' })} />
      ${states
        .filter((state) => counts === null || (counts[state] ?? 0) > 0 || state === filter.state)
        .map(
          (state) =>
            html`<${Chip}
              key=${state}
              state=${state}
              label=${stateName(state)}
              count=${counts?.[state]}
              isOn=${filter.state === state}
              pick=${() => change({ state: filter.state === state ? '' : state })}
            />`,
        )}
    </div>
    <${MoreFilters} session=${session} filter=${filter} change=${change} />
  </search>`
}

function MoreFilters({ session, filter, change }: Omit<FilterProps, 'counts'>): VNode {
  const extra = [filter.context, filter.owner, filter.skill].filter((each) => each !== '').length
  return html`<details class="more">
    <summary>More filters${extra > 0 && html`<span class="badge">${extra}</span>`}</summary>
    <div class="fields">
      <${Field} label="Context" value=${filter.context} onText=${(context: string) => change({ context })} />
      ${
        session.owner === undefined &&
        !session.isRemote &&
        html`<${Field} label="Owner" value=${filter.owner} onText=${(owner: string) => change({ owner })} />`
      }
      ${
        !session.isRemote &&
        html`<${Field} label="Skill" value=${filter.skill} onText=${(skill: string) => change({ skill })} />`
      }
      <label class="field">
        <span>Changed</span>
        <select
          value=${filter.ageMs}
          onChange=${(event: Event) => change({ ageMs: Number((event.currentTarget as HTMLSelectElement).value) })}
        >
          ${AGES.map(([label, ms]) => html`<option value=${ms}>${label}</option>`)}
        </select>
      </label>
      <button type="button" class="plain" onClick=${() => change(NO_FILTER)}>Clear filters</button>
      ${session.actions.includes('cancel') && html`<${CancelAll} filter=${filter} />`}
      ${session.actions.includes('redrive') && html`<${RedriveAll} filter=${filter} />`}
    </div>
  </details>`
}

function CancelAll({ filter }: { filter: Filter }): VNode {
  return html`<${ForAll}
    label="Cancel matching tasks"
    title="Cancel the matching tasks?"
    text="All tasks that the filters select and that have not ended are canceled, at most 200 in each state at a time."
    verb="Cancel tasks"
    isDangerous=${true}
    act=${async () => {
      const { canceled, hasMore } = await api.cancelAll(selectionOf(filter))
      return `${canceled} canceled${hasMore ? AND_MORE : ''}`
    }}
  />`
}

function RedriveAll({ filter }: { filter: Filter }): VNode {
  return html`<${ForAll}
    label="Redrive matching failures"
    title="Redrive the matching failures?"
    text="A new task continues each task that the filters select, has failed for good and was not redriven yet, at most 200 at a time. Steps that are done stay done."
    verb="Redrive tasks"
    act=${async () => {
      const { redriven, refused, hasMore } = await api.redriveAll(selectionOf(filter))
      return `${redriven} redriven${refused > 0 ? `, ${refused} refused` : ''}${hasMore ? AND_MORE : ''}`
    }}
  />`
}

const AND_MORE = ', and there are more'

type ForAllProps = Omit<ConfirmedProps, 'act'> & {
  /** Resolves to what it has done. */
  readonly act: () => Promise<string>
}

/** An action on many tasks, and what it has done. */
function ForAll({ act, ...others }: ForAllProps): VNode {
  const [said, setSaid] = useState('')
  return html`<${Confirmed} ...${others} act=${async () => setSaid(await act())} />
    <span class="said" role="status">${said}</span>`
}

interface ChipProps {
  readonly label: string
  readonly state?: string
  readonly count?: number
  readonly isOn: boolean
  readonly pick: () => void
}

function Chip({ label, state, count, isOn, pick }: ChipProps): VNode {
  return html`<button type="button" class="chip" aria-pressed=${isOn} onClick=${pick}>
    ${state !== undefined && html`<${StateDot} state=${state} />`}${label}
    ${count !== undefined && html`<span class="count">${count.toLocaleString('en')}</span>`}
  </button>`
}

interface TextProps {
  readonly value: string
  readonly onText: (text: string) => void
}

/** A text that is used when the typing pauses. */
function useTyped({ value, onText }: TextProps): [string, (event: Event) => void] {
  const [typed, setTyped] = useState(value)
  const timer = useRef<ReturnType<typeof setTimeout>>()
  useEffect(() => setTyped(value), [value])
  const onInput = (event: Event): void => {
    const text = (event.currentTarget as HTMLInputElement).value
    setTyped(text)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => onText(text.trim()), TYPING_MS)
  }
  return [typed, onInput]
}

function Search(props: TextProps): VNode {
  const [typed, onInput] = useTyped(props)
  return html`<input
    class="search"
    type="search"
    aria-label="Search tasks"
    placeholder="Search ids and texts"
    value=${typed}
    onInput=${onInput}
  />`
}

function Field({ label, ...props }: TextProps & { readonly label: string }): VNode {
  const [typed, onInput] = useTyped(props)
  return html`<label class="field"><span>${label}</span><input value=${typed} onInput=${onInput} /></label>`
}

interface RowsProps {
  readonly list: ListState
  readonly selected: string | undefined
  readonly isFiltered: boolean
}

/** Only the rows in view are in the document. */
function Rows({ list, selected, isFiltered }: RowsProps): VNode {
  const { rows, isLoading, hasMore, failure, loadMore, waiting, setAtTop } = list
  const scroller = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ top: 0, height: 800 })
  const now = useNow()
  useEffect(() => {
    const element = scroller.current
    if (element === null) return
    const measure = (): void => {
      const top = element.scrollTop - (element.scrollTop % SCROLL_STEP)
      const height = element.clientHeight
      setView((before) => (before.top === top && before.height === height ? before : { top, height }))
    }
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    element.addEventListener('scroll', measure, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', measure)
    }
  }, [])
  const first = Math.max(0, Math.floor(view.top / ROW_HEIGHT) - SPARE_ROWS)
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / ROW_HEIGHT) + SPARE_ROWS)
  useEffect(() => {
    if (last > rows.length - LOAD_AHEAD && hasMore) loadMore()
  }, [last, rows.length, isLoading])
  useEffect(() => setAtTop(view.top === 0), [view.top === 0])
  const toTop = (): void => scroller.current?.scrollTo(0, 0)
  return html`<div class="rows" ref=${scroller} tabindex="-1" onKeyDown=${moveFocus}>
    ${
      waiting > 0 &&
      html`<button type="button" class="newer solid" onClick=${toTop}>
        ${waiting === Infinity ? 'Many tasks have changed' : waiting === 1 ? '1 newer task' : `${waiting} newer tasks`}
      </button>`
    }
    <ol style=${{ height: `${rows.length * ROW_HEIGHT}px` }} aria-label="Tasks, latest change first">
      ${rows
        .slice(first, last)
        .map(
          (task, index) =>
            html`<${Row}
              key=${task.id}
              task=${task}
              position=${first + index}
              total=${hasMore ? -1 : rows.length}
              isSelected=${task.id === selected}
              now=${now}
            />`,
        )}
    </ol>
    ${failure !== '' && html`<p class="notice" role="alert">${failure}</p>`}
    ${isLoading && html`<p class="quiet pad">Loading…</p>`}
    ${
      !isLoading &&
      rows.length === 0 &&
      failure === '' &&
      html`<p class="quiet pad">${isFiltered ? 'No task matches' : 'There are no tasks yet'}</p>`
    }
  </div>`
}

interface RowProps {
  readonly task: Summary
  readonly position: number
  readonly total: number
  readonly isSelected: boolean
  readonly now: number
}

function Row({ task, position, total, isSelected, now }: RowProps): VNode {
  const { id, title, note, skill, isSkillStated, state, owner, protocol, updatedAt, isDead } = task
  const detail =
    note !== '' && note !== title
      ? note
      : [isSkillStated && skill, owner && ownerName(owner)].filter(Boolean).join(' · ')
  return html`<li
    style=${{ transform: `translateY(${position * ROW_HEIGHT}px)` }}
    aria-posinset=${position + 1}
    aria-setsize=${total}
  >
    <a class="row" href=${taskHref(id)} aria-current=${isSelected ? 'true' : undefined}>
      <${StateDot} state=${state} />
      <span class="row-title">${title === '' ? shortId(id) : html`<${Line} text=${title} />`}</span>
      <time class="row-time" datetime=${updatedAt} title=${dateTime(updatedAt)}>${ago(updatedAt, now)}</time>
      <span class="row-state">
        <span class=${`state-name ${stateClass(state)}`}>${stateName(state)}</span>
        ${protocol !== undefined && html`<span class="tag" title="The protocol by which it came">${protocol}</span>`}
        ${isDead && html`<span class="tag" title="No further attempt is made. A redrive continues it">for good</span>`}
        <span class="row-note"><${Line} text=${detail} /></span>
      </span>
    </a>
  </li>`
}

/** The arrow keys move from row to row. */
function moveFocus(event: KeyboardEvent): void {
  const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[event.key]
  const { activeElement } = document
  if (step === undefined || activeElement?.className !== 'row') return
  const item = activeElement.parentElement
  const next = step > 0 ? item?.nextElementSibling : item?.previousElementSibling
  const link = next?.querySelector<HTMLElement>('a.row')
  if (link === null || link === undefined) return
  event.preventDefault()
  link.focus()
}
