export { findChromium } from './find-browsers.mjs'
