#![no_main]

reconfig_fuzz::attribute!(reconfig::wire::sa::McMemberRecord);
