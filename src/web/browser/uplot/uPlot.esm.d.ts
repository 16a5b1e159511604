// The library's own module is served under this path; these are its types.
export { default } from 'uplot'
