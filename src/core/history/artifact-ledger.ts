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
  readonly append: boolean
  /** Absent for other code, and for a step that is over. */
  step: string | undefined
  readonly generation: number
  isUndone: boolean
}

interface Tracked {
  readonly base: Content
  readonly written: Written[]
  /** Whether the task still shows what was undone. */
  isStale: boolean
}

/** A write to make, as `appendArtifact` takes it. */
export interface PlannedWrite {
  readonly artifact: ArtifactInput
  readonly options: AppendArtifactOptions | undefined
}

/**
 * Tracks artifacts from the first write of a step on, or all of a log. A write that was undone stays visible until the next one
 * to its artifact, which replaces it: so no client sees a chunk twice.
 */
export class ArtifactLedger {
  readonly #tracked = new Map<string, Tracked>()
  /** For a log, all of whose writes are tracked: the steps that are over. */
  readonly #over: ReadonlySet<string> | undefined

  /** @param stale - Artifacts that show what was undone, by id: what is left of them. */
  constructor(stale: ReadonlyMap<string, Content> = new Map(), over?: ReadonlySet<string>) {
    for (const [id, base] of stale) this.#tracked.set(id, { base, written: [], isStale: true })
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

  /** @param before - The artifact before the write, for one that is not tracked yet. */
  add({ artifact, append, step, restored, generation }: ArtifactChanged, before: Content): void {
    const { artifactId = '' } = artifact
    if (restored === true) {
      this.#setBack(artifactId, artifact)
      return
    }
    const known = restored === false ? undefined : this.#tracked.get(artifactId)
    const base = restored === false ? undefined : before
    const tracked = known ?? { base, written: [], isStale: false }
    this.#tracked.set(artifactId, tracked)
    const last = tracked.written.at(-1)
    if (append && step !== undefined && last?.step === step && !last.isUndone) {
      applyArtifact(last.holder, { artifact, append })
    } else {
      const holder = { artifacts: [ownArtifact(artifact)] }
      tracked.written.push({ holder, append, step, generation, isUndone: false })
    }
    this.#forgetIfSettled(artifactId, tracked)
  }

  /** Undoes the writes of a step, or those that the function names. */
  undo(
    of: string | ((written: { readonly step: string | undefined; readonly generation: number }) => boolean),
  ): void {
    const isMeant = typeof of === 'string' ? ({ step }: Written) => step === of : of
    for (const tracked of this.#tracked.values()) {
      for (const written of tracked.written) {
        if (written.isUndone || !isMeant(written)) continue
        written.isUndone = true
        tracked.isStale = true
      }
    }
  }

  /**
   * The step is over: what it has written stays.
   *
   * @returns The artifacts that still show what was undone of it, and held something before.
   */
  settle(step: string): readonly string[] {
    const stale: string[] = []
    for (const [artifactId, tracked] of this.#tracked) {
      const own = tracked.written.filter((written) => written.step === step)
      const isStale = own.some(({ isUndone }) => isUndone)
      const hasRest = isStale && contentOf(tracked) !== undefined
      if (hasRest) stale.push(artifactId)
      for (const written of own) {
        written.step = undefined
        // Nothing removes an artifact.
        if (!hasRest) written.isUndone = false
      }
      if (isStale && !hasRest) tracked.isStale = tracked.written.some(({ isUndone }) => isUndone)
      this.#forgetIfSettled(artifactId, tracked)
    }
    return stale
  }

  /** By id, the artifacts that show what was undone: what is left of them. */
  stale(): Map<string, Content> {
    const stale = [...this.#tracked].filter(([, { isStale }]) => isStale)
    return new Map(stale.map(([artifactId, tracked]) => [artifactId, contentOf(tracked)]))
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
    this.#tracked.set(artifactId, left ?? { base: artifact, written: [], isStale: false })
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
    return sizes[count] === size ? { base, written: left.slice(0, count), isStale: false } : undefined
  }

  #forgetIfSettled(artifactId: string, { written, isStale }: Tracked): void {
    if (this.#over !== undefined || isStale || written.some(({ step }) => step !== undefined)) return
    this.#tracked.delete(artifactId)
  }
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

function toPlanned({ holder, append, step }: Written): PlannedWrite {
  return { artifact: holder.artifacts[0] ?? {}, options: { append, step } }
}

/** @param restored - See `ArtifactChanged`. */
function replacing({ artifact, options }: PlannedWrite, restored: boolean): PlannedWrite {
  return { artifact, options: { ...options, append: false, restored } }
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
