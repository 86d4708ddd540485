import { type FocusEvent, type RefObject, useLayoutEffect, useRef, useState } from 'react'

/** Tracks the focus in a list of rows. If the row with the focus is removed, `scroller` gets the focus. */
export function useRowFocus(scroller: RefObject<HTMLElement | null>) {
  const [last, setLast] = useState('')
  const isWithin = useRef(false)
  useLayoutEffect(() => {
    if (!isWithin.current || document.activeElement !== document.body) return
    isWithin.current = false
    scroller.current?.focus({ preventScroll: true })
  })
  return {
    /** The id of the place whose row had the focus last. */
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
