import { type FocusEvent, type RefObject, useLayoutEffect, useRef, useState } from 'react'

/** The focus in rows that come and go: it passes to `scroller` with a row that leaves the page. */
export function useRowFocus(scroller: RefObject<HTMLElement | null>) {
  const [last, setLast] = useState('')
  const isWithin = useRef(false)
  useLayoutEffect(() => {
    if (!isWithin.current || document.activeElement !== document.body) return
    isWithin.current = false
    scroller.current?.focus({ preventScroll: true })
  })
  return {
    /** The id of the place whose row had it last. */
    last,
    onFocus: ({ target }: FocusEvent) => {
      isWithin.current = true
      if (target instanceof HTMLButtonElement) setLast(target.value)
    },
    onBlur: () => {
      isWithin.current = false
    },
  }
}
