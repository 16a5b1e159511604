/** The name of a complete scheduled backup. Files with other names are never touched. */
export const COMPLETE = /^musette-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z(?:-([0-9a-f]{8}))?\.tar$/
