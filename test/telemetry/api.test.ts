/** `@opentelemetry/api`, which need not be installed. */
import * as otel from '@opentelemetry/api'
import { expect, it } from 'vitest'
import { TaskManager } from 'a2a-tasks'
import { instrumentTasks, type OpenTelemetryApi } from 'a2a-tasks/telemetry'
import { ERROR, CLIENT } from '../../src/telemetry/api.js'
import { registeredApi } from '../../src/telemetry/registered-api.js'
import { read, SOURCES } from '../support/repository.js'
import { importsOf } from '../support/source.js'
import { sdk, unregister } from './support/sdk.js'

const GIVEN: OpenTelemetryApi = otel

it('is imported by no source file, and needed by no type', () => {
  const files = SOURCES.filter((file) => file.startsWith('telemetry/'))
  expect(files).toContain('telemetry/index.ts')
  const specifiers = files.flatMap((file) => importsOf(read(`src/${file}`)).map(({ specifier }) => specifier))
  expect(specifiers.filter((specifier) => !specifier.startsWith('.'))).toEqual([])
})

it('has the numbers that we call by no name', () => {
  expect([CLIENT, ERROR]).toEqual([otel.SpanKind.CLIENT, otel.SpanStatusCode.ERROR])
})

it('does what its registry does, as far as we use it', () => {
  const { inSpan } = sdk()
  const [ours, theirs] = [registeredApi, GIVEN].map((api) =>
    inSpan('span', () => {
      const active = api.context.active()
      const { traceId = '', spanId = '' } = api.trace.getSpanContext(active) ?? {}
      const headers: Record<string, string> = {}
      api.propagation.inject(active, headers)
      expect(headers).toEqual({ traceparent: `00-${traceId}-${spanId}-01` })
      const span = api.trace.getTracer('x')?.startSpan('child', {}, active)
      if (span === undefined) throw new Error('There is no tracer')
      const inner = api.trace.setSpan(active, span)
      const found = api.context.with(inner, () => otel.trace.getSpan(otel.context.active()))
      const extracted = api.propagation.extract(otel.ROOT_CONTEXT, headers)
      expect(api.trace.getSpanContext(extracted)).toMatchObject({ traceId, spanId })
      return { isFound: found === span, hasMeter: api.metrics.getMeter('x') === otel.metrics.getMeter('x') }
    }),
  )
  expect(ours).toEqual({ isFound: true, hasMeter: true })
  expect(theirs).toEqual(ours)
})

it('has contexts that hold what is put into them, where nothing is registered', () => {
  unregister()
  const key = Symbol('key')
  const root = registeredApi.context.active()
  const one = root.setValue(key, 1)
  const values = [root, one, one.setValue(key, 2), one.deleteValue(key), one].map((each) =>
    each.getValue(key),
  )
  expect(values).toEqual([undefined, 1, 2, undefined, 1])
  expect(registeredApi.context.with(one, () => 'run')).toBe('run')
  expect(registeredApi.trace.getTracer('x')).toBeUndefined()
  expect(registeredApi.metrics.getMeter('x')).toBeUndefined()
  expect(registeredApi.propagation.extract(one, { traceparent: 'x' })).toBe(one)
})

it('is told the name and the version of the package', () => {
  const { spans } = sdk()
  const tasks = new TaskManager()
  instrumentTasks(tasks)
  const { id } = tasks.createTask({ skill: 'test' })
  tasks.cancelTask(id)
  const { version } = JSON.parse(read('package.json')) as { readonly version: string }
  expect(spans()[0]?.instrumentationScope).toMatchObject({ name: 'a2a-tasks', version })
})
