/**
 * Writes of each step to the artifacts of a turn: those of one step can be undone, and those of others stay.
 *
 * @module
 */
import type { ArtifactChanged } from '../events.js'
import { applyArtifact, ownArtifact } from '../evolve.js'
import { jsonSize } from '../json.js'
import type { AppendArtifactOptions, ArtifactInput } from '../params.js'
import { artifactGrowth } from '../sizes.js'
import type { Artifact, DeepReadonly, Task } from '../task.js'

/** An artifact; `undefined` for one that does not exist. */
export type Content = DeepReadonly<Artifact> | undefined

/** Writes of one step, or of other code, that came one after the other. */
interface Written {
  readonly holder: Pick<Task, 'artifacts'>
  append: boolean
  /** The step that has written, also one that is over. Absent for other code. */
  readonly by: string | undefined
  /** As {@link by}, as long as the step is not over. */
  step: string | undefined
  readonly generation: number
  isUndone: boolean
}

interface Tracked {
  readonly base: Content
  written: Written[]
  /** How many of them are of steps that are open. */
  open: number
  /** How many there were after writes were last joined. */
  joined: number
  /** Whether the task still shows what was undone. */
  isStale: boolean
  /** Whether the base contains writes of the log that cannot be told apart. */
  isFolded?: true
}

/** What one step has written to one artifact. */
interface Own {
  readonly tracked: Tracked
  readonly written: Written[]
}

/** A write to make, as `appendArtifact` takes it. */
export interface PlannedWrite {
  readonly artifact: ArtifactInput
  readonly options: AppendArtifactOptions | undefined
  /** Whether the step of the options is over. */
  readonly isSettled?: boolean | undefined
}

/**
 * Tracks artifacts from the first write of a step on, or all of a log. A write that was undone stays visible until the next one
 * to its artifact, which replaces it: so no client sees a chunk twice.
 */
export class ArtifactLedger {
  readonly #tracked = new Map<string, Tracked>()
  /** The writes of each step that is open, by artifact. Thousands of steps may write to one. Empty for a log. */
  readonly #own = new Map<string, Map<string, Own>>()
  /** For a log, all of whose writes are tracked: the steps that are over. */
  readonly #over: ReadonlySet<string> | undefined

  /** @param stale - Artifacts that show what was undone, by id: what is left of them. */
  constructor(stale: ReadonlyMap<string, Content> = new Map(), over?: ReadonlySet<string>) {
    for (const [id, base] of stale) this.#tracked.set(id, { ...trackedFrom(base), isStale: true })
    this.#over = over
  }

  /** Whether a write to the artifact is one to track, for code that works. */
  tracks(artifactId: string | undefined, step: string | undefined): boolean {
    return artifactId !== undefined && (step !== undefined || this.#tracked.has(artifactId))
  }

  has(artifactId: string | undefined): boolean {
    return this.#tracked.has(artifactId ?? '')
  }

  isStale(artifactId: string): boolean {
    return this.#tracked.get(artifactId)?.isStale === true
  }

  /**
   * @param before - The artifact before the write, for one that is not tracked yet.
   * @param isSettled - Whether the step of the write is over.
   */
  add(
    { artifact, append, step: by, restored, generation }: ArtifactChanged,
    before: Content,
    isSettled = false,
  ): void {
    const step = isSettled ? undefined : by
    const { artifactId = '' } = artifact
    if (restored === true) {
      this.#setBack(artifactId, artifact)
      return
    }
    const known = restored === false ? undefined : this.#tracked.get(artifactId)
    const base = restored === false ? undefined : before
    const tracked = known ?? trackedFrom(base)
    this.#tracked.set(artifactId, tracked)
    const last = tracked.written.at(-1)
    const isLog = this.#over !== undefined
    const mayJoin = !isLog || (append && step !== undefined)
    if (mayJoin && continuesFor(last, step, by)) {
      join(last, { artifact, append })
    } else {
      const holder = { artifacts: [ownArtifact(artifact)] }
      const written = { holder, append, by, step, generation, isUndone: false }
      tracked.written.push(written)
      if (!isLog && step !== undefined) this.#ownOf(step, artifactId, tracked).push(written)
    }
    this.#forgetIfSettled(artifactId, tracked)
  }

  #ownOf(step: string, artifactId: string, tracked: Tracked): Written[] {
    tracked.open += 1
    const byArtifact = this.#own.get(step) ?? new Map<string, Own>()
    this.#own.set(step, byArtifact)
    const known = byArtifact.get(artifactId)
    // The artifact was set back since.
    const own = known?.tracked === tracked ? known : { tracked, written: [] }
    byArtifact.set(artifactId, own)
    return own.written
  }

  /** What the step has written, by artifact. */
  *#ofStep(step: string): Generator<readonly [artifactId: string, own: Own]> {
    for (const [artifactId, own] of this.#own.get(step) ?? [])
      if (this.#tracked.get(artifactId) === own.tracked) yield [artifactId, own]
  }

  /** Undoes the writes of a step. */
  undo(step: string): void {
    for (const [, { tracked, written }] of this.#ofStep(step)) for (const each of written) undo(tracked, each)
  }

  /** Undoes the writes of a log that the function names. */
  undoAll(
    isMeant: (written: { readonly step: string | undefined; readonly generation: number }) => boolean,
  ): void {
    for (const tracked of this.#tracked.values())
      for (const written of tracked.written) if (isMeant(written)) undo(tracked, written)
  }

  /**
   * The step is over: what it has written stays.
   *
   * @returns The artifacts that still show what was undone of it, and held something before.
   */
  settle(step: string): readonly string[] {
    const stale: string[] = []
    for (const [artifactId, { tracked, written: own }] of this.#ofStep(step)) {
      const isStale = own.some(({ isUndone }) => isUndone)
      const hasRest = isStale && contentOf(tracked) !== undefined
      if (hasRest) stale.push(artifactId)
      for (const written of own) {
        written.step = undefined
        // Nothing removes an artifact.
        if (!hasRest) written.isUndone = false
      }
      tracked.open -= own.length
      if (isStale && !hasRest) tracked.isStale = tracked.written.some(({ isUndone }) => isUndone)
      this.#forgetIfSettled(artifactId, tracked)
      joinSettled(tracked)
    }
    this.#own.delete(step)
    return stale
  }

  /** By id, the artifacts that show what was undone: what is left of them. */
  stale(): Map<string, Content> {
    const stale = [...this.#tracked].filter(([, { isStale }]) => isStale)
    return new Map(stale.map(([artifactId, tracked]) => [artifactId, contentOf(tracked)]))
  }

  /**
   * Of a log, by id: what code outside of steps has written to artifacts and is not undone, oldest first. `undefined` for an
   * artifact whose writes cannot be told apart.
   */
  outsideSteps(): Map<string, readonly DeepReadonly<Artifact>[] | undefined> {
    const standing = ({ by, isUndone }: Written): boolean => by === undefined && !isUndone
    return new Map(
      [...this.#tracked].map(([artifactId, { written, isFolded }]) => [
        artifactId,
        isFolded ? undefined : written.filter(standing).flatMap(({ holder }) => holder.artifacts),
      ]),
    )
  }

  /** The writes to make for a chunk: of a stale artifact, what is left of it comes first. */
  plan(chunk: PlannedWrite): readonly PlannedWrite[] {
    const tracked = this.#tracked.get(chunk.artifact.artifactId ?? '')
    if (tracked?.isStale !== true) return [chunk]
    const left = tracked.written.filter(({ isUndone }) => !isUndone)
    const open = left.findIndex(({ step }) => step !== undefined)
    const settled = open === -1 ? left : left.slice(0, open)
    const base = contentOf({ ...tracked, written: settled })
    const [first, ...others] = [...(open === -1 ? [] : left.slice(open).map(toPlanned)), chunk]
    // If nothing is left, the first write replaces what the task shows.
    if (base === undefined) return [replacing(first, false), ...others]
    return [replacing({ artifact: base, options: undefined }, true), first, ...others]
  }

  /** The writes that restore a stale artifact. */
  planRestored(artifactId: string): readonly PlannedWrite[] {
    return this.plan({ artifact: { artifactId, parts: [] }, options: {} }).slice(0, -1)
  }

  #setBack(artifactId: string, artifact: DeepReadonly<Artifact>): void {
    const tracked = this.#tracked.get(artifactId)
    const left = tracked && this.#leftOf(tracked, artifact)
    this.#tracked.set(artifactId, left ?? { ...trackedFrom(artifact), isFolded: true })
  }

  /**
   * In a log: the writes that an artifact was set back to. They are the first ones, because what was undone came after them, or
   * belongs to steps that are not over.
   */
  #leftOf({ base, written }: Tracked, artifact: DeepReadonly<Artifact>): Tracked | undefined {
    const over = this.#over
    if (over === undefined) return undefined
    const left = written.filter(({ step, isUndone }) => !isUndone && (step === undefined || over.has(step)))
    const sizes = sizesOf(base, left)
    const size = jsonSize(artifact)
    const count = sizes.findLastIndex((each) => each <= size)
    return sizes[count] === size ? { ...trackedFrom(base), written: left.slice(0, count) } : undefined
  }

  #forgetIfSettled(artifactId: string, { open, isStale }: Tracked): void {
    if (this.#over === undefined && !isStale && open === 0) this.#tracked.delete(artifactId)
  }
}

/** Whether the next write of the step is one with the write before it. */
function continuesFor(
  last: Written | undefined,
  step: string | undefined,
  by: string | undefined,
): last is Written {
  return last !== undefined && last.step === step && last.by === by && !last.isUndone
}

function trackedFrom(base: Content): Tracked {
  return { base, written: [], open: 0, joined: 0, isStale: false }
}

function undo(tracked: Tracked, written: Written): void {
  if (written.isUndone) return
  written.isUndone = true
  tracked.isStale = true
}

/** Makes a write and the one after it one. */
function join(written: Written, next: Pick<ArtifactChanged, 'artifact' | 'append'>): void {
  applyArtifact(written.holder, next)
  if (!next.append) written.append = false
}

/** So many more writes than before are worth a look at all of them. */
const JOIN_EVERY = 64

/** Joins neighbours that nothing undoes any more: otherwise they take memory until all steps are over that write to it. */
function joinSettled(tracked: Tracked): void {
  if (tracked.written.length < 2 * tracked.joined + JOIN_EVERY) return
  const joined: Written[] = []
  for (const written of tracked.written) {
    const last = joined.at(-1)
    const {
      holder: {
        artifacts: [artifact],
      },
      append,
    } = written
    const isOfSteps = written.by !== undefined
    const isOne = last !== undefined && isSettled(last) && isSettled(written)
    // What other code has written may be undone after a crash, when the steps are over.
    if (isOne && (last.by !== undefined) === isOfSteps && artifact !== undefined)
      join(last, { artifact, append })
    else joined.push(written)
  }
  Object.assign(tracked, { written: joined, joined: joined.length })
}

function isSettled({ step, isUndone }: Written): boolean {
  return step === undefined && !isUndone
}

function contentOf({ base, written }: Tracked): Content {
  const holder = { artifacts: base === undefined ? [] : [ownArtifact(base)] }
  for (const {
    holder: {
      artifacts: [artifact],
    },
    append,
    isUndone,
  } of written) {
    if (!isUndone && artifact !== undefined) applyArtifact(holder, { artifact, append })
  }
  return holder.artifacts[0]
}

function toPlanned({ holder, append, by, step }: Written): PlannedWrite {
  const isSettled = by !== undefined && step === undefined
  return { artifact: holder.artifacts[0] ?? {}, options: { append, step: by }, isSettled }
}

/** @param restored - See `ArtifactChanged`. */
function replacing({ artifact, options, ...others }: PlannedWrite, restored: boolean): PlannedWrite {
  return { artifact, options: { ...options, append: false, restored }, ...others }
}

/** The bytes of the artifact before the first of the writes, and after each. */
function sizesOf(base: Content, written: readonly Written[]): readonly number[] {
  const shown = { artifacts: base === undefined ? [] : [ownArtifact(base)] }
  let size = base === undefined ? 0 : jsonSize(base)
  const sizes = [size]
  for (const { holder, append } of written) {
    for (const artifact of holder.artifacts) {
      size += artifactGrowth(shown, { artifact, append })
      applyArtifact(shown, { artifact, append })
    }
    sizes.push(size)
  }
  return sizes
}
