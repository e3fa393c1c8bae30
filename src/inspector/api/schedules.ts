/**
 * Schedules, which begin tasks at given times.
 *
 * @module
 */
import { invalidParams } from '../../core/errors.js'
import { readBody } from '../body.js'
import type { InspectedSchedules } from '../options.js'
import { Refusal } from '../refusal.js'
import { jsonResponse } from '../responses.js'
import type { ScheduleRow } from '../schedule-row.js'
import { audit, type Call } from './call.js'
import { requiredText } from './parameters.js'

export async function schedules(call: Call): Promise<Response> {
  return jsonResponse(await rowsOf(schedulesOf(call)))
}

/** Pauses a schedule, or ends its pause. */
export async function pause(call: Call): Promise<Response> {
  const given = schedulesOf(call)
  const body = await readBody(call)
  const schedule = requiredText(body, 'name')
  const { isPaused } = body
  if (typeof isPaused !== 'boolean') throw invalidParams('isPaused', 'must be true or false')
  await audit(call, 'schedule', { schedule })
  await (isPaused ? given.pause(schedule) : given.resume(schedule))
  return jsonResponse(await rowsOf(given))
}

/** @throws {Refusal} for a person who sees the tasks of one owner: schedules are those of all. */
function schedulesOf({ settings, scope }: Call): InspectedSchedules {
  if (settings.schedules === undefined) throw new Refusal(404, 'The inspector has no schedules')
  if (scope.filter.owner !== undefined) throw new Refusal(403, 'You may not see the schedules')
  return settings.schedules
}

async function rowsOf(given: InspectedSchedules): Promise<readonly ScheduleRow[]> {
  return (await given.list()).map(({ name, next, isPaused, missed }) => ({
    ...{ name, isPaused, missed },
    ...(next !== undefined && { next: next.toISOString() }),
  }))
}
